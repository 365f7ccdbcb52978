// The canonical form of a JSON value (RFC 8785).
/** Beyond any proof or body, and the end of a value that contains itself. */
const MAX_DEPTH = 1000;

/** Values between two pieces: some hundred microseconds. */
const VALUES_PER_PIECE = 1024;

/**
 * The RFC 8785 (JCS) text of a JSON value.
 *
 * @throws TypeError when `value` is not made of JSON values alone: undefined, a hole in an array, a
 *   function, a symbol, a bigint, a number that is not finite, a lone surrogate, an object that is not
 *   plain, a member named `__proto__`, more than 1000 levels of nesting.
 */
export function canonicalJson(value: unknown): string {
  let text = '';
  for (const piece of canonicalPieces(value)) text += piece;
  return text;
}

/**
 * The same text in pieces, made while they are asked for: it never stands in memory as a whole, and none takes
 * long. No piece ends within a string.
 *
 * @throws TypeError as `canonicalJson`, at once or where it comes to the fault.
 */
export function canonicalPieces(value: unknown): Iterable<string> {
  const whole = flatText(value);
  return whole === null ? new Writer().write(value) : [whole];
}

/** Characters up to which a look at each costs less than a call into the engine. */
const SHORT = 32;

/** Members of an object that is written in one go. */
const FEW = 16;

/** A container that is being written, its end, and the place of its next value. */
type Frame = ArrayFrame | ObjectFrame;
type ArrayFrame = { items: unknown[]; length: number; at: number };
type ObjectFrame = {
  items: null;
  members: Record<string, unknown>;
  names: string[];
  length: number;
  at: number;
};

/** The text of an object that holds few members and no container, as most do; null for any other value. */
function flatText(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  // Before its names are listed: those of a buffer are as many as its bytes.
  requirePlain(value);
  const names = Object.keys(value);
  if (names.length > FEW) return null;
  const members = value as Record<string, unknown>;
  for (const name of names) {
    const member = members[name];
    if (typeof member === 'object' && member !== null) return null;
  }
  let text = '{';
  let comma = '';
  for (const name of sort(names)) {
    text += `${comma}${nameText(name)}:${scalarText(members[name])}`;
    comma = ',';
  }
  return `${text}}`;
}

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

  /** The next value of a container, once what stands before it is written. */
  #next(frame: Frame): unknown {
    const at = frame.at++;
    if (at > 0) this.#piece += ',';
    if (frame.items !== null) return frame.items[at];
    const name = frame.names[at] ?? '';
    this.#piece += `${nameText(name)}:`;
    return frame.members[name];
  }

  /** Writes a scalar, or the begin of a container. */
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
    const names = sort(Object.keys(value));
    const members = value as Record<string, unknown>;
    this.#open.push({ items: null, members, names, length: names.length, at: 0 });
  }
}

/** RFC 8785 sorts by UTF-16 code units, as `Array.prototype.sort` does by itself, which takes longer for a few. */
function sort(names: string[]): string[] {
  if (names.length > FEW) return names.sort();
  for (let end = 1; end < names.length; end += 1) {
    const name = names[end] as string;
    let at = end;
    for (; at > 0 && (names[at - 1] as string) > name; at -= 1) names[at] = names[at - 1] as string;
    names[at] = name;
  }
  return names;
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
  // RFC 8785 writes a number as ECMAScript does; negative zero is 0.
  return String(value);
}

function stringText(text: string): string {
  if (isPlain(text)) return `"${text}"`;
  if (/\p{Surrogate}/u.test(text)) throw new TypeError('Not JSON: a lone surrogate');
  return JSON.stringify(text);
}

/** Short, as most names are, and nothing in it is written otherwise or is half a surrogate pair. */
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
