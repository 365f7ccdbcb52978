/** What a terminal might obey, beyond what JSON escapes by itself. */
const UNSAFE = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON with the same value, made of characters that no terminal obeys; indented for a person. */
export function formatJson(value: unknown, indented: boolean): string {
  const text = JSON.stringify(value, null, indented ? 2 : undefined);
  return text.replace(UNSAFE, (character) =>
    Array.from({ length: character.length }, (_, i) => escapeUnit(character.charCodeAt(i))).join(
      '',
    ),
  );
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
