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
