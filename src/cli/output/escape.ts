/** Characters that move the cursor, hide or reorder text: controls, and Unicode's format characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Compiling the other takes longer than most tables do. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Text of somebody else, fit for a terminal: what it could do there is shown as an escape instead. */
export function escapeText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** The same with its line ends kept: for sentences that name what is somebody else's. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeText).join('\n');
}

/** What a terminal might obey, beyond what JSON escapes by itself. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON with the same value, made of characters that no terminal obeys; indented for a person. */
export function formatJson(value: unknown, indented: boolean): string {
  const text = JSON.stringify(value, null, indented ? 2 : undefined);
  return text.replace(UNSAFE_IN_JSON, (character) =>
    Array.from({ length: character.length }, (_, i) => escapeUnit(character.charCodeAt(i))).join(
      '',
    ),
  );
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
