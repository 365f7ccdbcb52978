// Escapes foreign text, so that it cannot control the terminal.
/** Characters that move the cursor, hide or reorder text: controls, and Unicode's format characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Checked first: compiling UNSAFE takes longer than printing most tables. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Foreign text for a terminal, with unsafe characters as `\u{…}`. */
export function escapeText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** Like `escapeText`, but keeps line ends. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeText).join('\n');
}

/** Characters that a terminal may interpret and JSON does not escape by itself. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON of the value with unsafe characters escaped, indented for people. */
export function formatJson(value: unknown, indented: boolean): string {
  const text = JSON.stringify(value, null, indented ? 2 : undefined);
  return text.replace(UNSAFE_IN_JSON, (character) => character.replace(/./gs, escapeUnit));
}

/** `unit` is a UTF-16 code unit: a whole character, or one half of a surrogate pair. */
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
