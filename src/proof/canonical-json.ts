// The canonical form of a JSON value (RFC 8785).
/** More than any proof or body has. Also stops at a value that contains itself. */
const MAX_DEPTH = 1000;

/** Values per piece: some hundred microseconds of work. */
const VALUES_PER_PIECE = 1024;

/**
 * The RFC 8785 (JCS) text of a JSON value.
 *
 * @throws TypeError if `value` contains anything but JSON values: undefined, a hole in an array, a
 *   function, a symbol, a bigint, a number that is not finite, a lone surrogate, an object that is not
 *   plain, a member named `__proto__`, more than 1000 levels of nesting.
 */
export function canonicalJson(value: unknown): string {
  let text = '';
  for (const piece of canonicalPieces(value)) text += piece;
  return text;
}

/**
 * The same text in pieces, generated on demand. The text is never in memory as a whole, each piece takes little
 * time, and no piece ends within a string.
 *
 * @throws TypeError as `canonicalJson`, immediately or when it reaches the value.
 */
export function canonicalPieces(value: unknown): Iterable<string> {
  return new Writer().write(value);
}

/** Maximum length of a string for which checking each character is faster than a call into the engine. */
const SHORT = 32;

/** A container that is being written, its number of values, and the index of the next one. */
type Frame = ArrayFrame | ObjectFrame;
type ArrayFrame = { items: unknown[]; length: number; at: number };
type ObjectFrame = {
  items: null;
  members: Record<string, unknown>;
  names: string[];
  length: number;
  at: number;
};

class Writer {
  readonly #open: Frame[] = [];
  #piece = '';

  *write(value: unknown): Generator<string, void> {
    this.#begin(value);
    let values = 1;
    for (let frame = this.#open.at(-1); frame !== undefined; frame = this.#open.at(-1)) {
      if (frame.at === frame.length) {
        this.#piece += frame.items === null ? '}' : ']';
        this.#open.pop();
        continue;
      }
      this.#begin(this.#next(frame));
      values++;
      if (values % VALUES_PER_PIECE !== 0) continue;
      yield this.#piece;
      this.#piece = '';
    }
    yield this.#piece;
  }

  /** The next value of a container, after its separator and name are written. */
  #next(frame: Frame): unknown {
    const at = frame.at++;
    if (at > 0) this.#piece += ',';
    if (frame.items !== null) return frame.items[at];
    const name = frame.names[at] ?? '';
    this.#piece += `${nameText(name)}:`;
    return frame.members[name];
  }

  /** Writes a scalar, or the beginning of a container. */
  #begin(value: unknown): void {
    if (typeof value !== 'object' || value === null) {
      this.#piece += scalarText(value);
      return;
    }
    if (this.#open.length === MAX_DEPTH) {
      throw new TypeError(`Not JSON: deeper than ${MAX_DEPTH} levels`);
    }
    if (Array.isArray(value)) {
      this.#piece += '[';
      this.#open.push({ items: value, length: value.length, at: 0 });
      return;
    }
    requirePlain(value);
    this.#piece += '{';
    const names = Object.keys(value).sort();
    const members = value as Record<string, unknown>;
    this.#open.push({ items: null, members, names, length: names.length, at: 0 });
  }
}

function nameText(name: string): string {
  if (name === '__proto__') throw new TypeError('Not JSON: a member named __proto__');
  return stringText(name);
}

function scalarText(value: unknown): string {
  if (typeof value === 'string') return stringText(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value !== 'number') throw new TypeError(`Not JSON: a value of type ${typeof value}`);
  if (!Number.isFinite(value)) throw new TypeError('Not JSON: a number that is not finite');
  // RFC 8785 writes numbers as ECMAScript does, and negative zero as 0.
  return String(value);
}

function stringText(text: string): string {
  if (isPlain(text)) return `"${text}"`;
  if (/\p{Surrogate}/u.test(text)) throw new TypeError('Not JSON: a lone surrogate');
  return JSON.stringify(text);
}

/** Whether a string is short and needs neither an escape nor a check for surrogates. */
function isPlain(text: string): boolean {
  if (text.length > SHORT) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x22 || code === 0x5c || code >= 0xd800) return false;
  }
  return true;
}

function requirePlain(value: object): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError('Not JSON: an object that is not plain');
  }
}
