// The error for a text that is not strict JSON.
/**
 * The text is not strict JSON.
 *
 * `kind` is `syntax` if the text is not JSON (RFC 8259), `fault` if it is JSON that cannot be anchored without a silent
 * change, and `size` if it has too many values. `pointer` is the RFC 6901 JSON Pointer of the fault, in full length; for
 * `syntax` it is empty, and `reason` gives line and column. `reason` is a sentence without full stop that quotes nothing
 * of the text.
 */
export class StrictJsonError extends Error {
  readonly kind: 'syntax' | 'fault' | 'size';
  readonly pointer: string;
  readonly reason: string;

  constructor(kind: StrictJsonError['kind'], pointer: string, reason: string) {
    super(kind === 'syntax' ? reason : `${reason}, at ${JSON.stringify(pointer)}`);
    this.name = 'StrictJsonError';
    this.kind = kind;
    this.pointer = pointer;
    this.reason = reason;
  }
}

/** The reason for an integer that `numbers: 'string'` would accept. */
export const CHANGED_INTEGER =
  'The integer would change as an IEEE 754 double: send it as a string';

/** One step of a JSON Pointer (RFC 6901, section 3). */
export function pointerStep(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

const NEWLINE = 0x0a;

/** Line and column of a character, for a sentence; both count from 1. */
export function placeIn(text: string, end: number): string {
  let line = 1;
  let lineStart = 0;
  for (let at = 0; at < end; at++) {
    if (text.charCodeAt(at) !== NEWLINE) continue;
    line++;
    lineStart = at + 1;
  }
  return `line ${line}, column ${end - lineStart + 1}`;
}
