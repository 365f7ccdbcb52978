import canonicalize from 'canonicalize';

/** Beyond any proof or body, and far below where the recursion would meet the end of the stack. */
const MAX_DEPTH = 1000;

/**
 * The RFC 8785 (JCS) text of a JSON value.
 *
 * @throws TypeError when `value` is not made of JSON values alone: undefined, a hole in an array, a
 *   function, a symbol, a bigint, a number that is not finite, a lone surrogate, an object that is not
 *   plain, a member named `__proto__`, more than 1000 levels of nesting.
 */
export function canonicalJson(value: unknown): string {
  requireJson(value, 0);
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('The value has no JSON text');
  return text;
}

/**
 * The same text, handed over piece by piece: what is written never stands in memory as a whole.
 *
 * @throws TypeError as `canonicalJson`, before anything is written.
 */
export function writeCanonicalJson(value: unknown, write: (piece: string) => void): void {
  requireJson(value, 0);
  writeValue(value, write);
}

function writeValue(value: unknown, write: (piece: string) => void): void {
  if (typeof value !== 'object' || value === null) {
    write(JSON.stringify(value));
  } else if (Array.isArray(value)) {
    let mark = '[';
    for (const item of value) {
      write(mark);
      writeValue(item, write);
      mark = ',';
    }
    write(mark === '[' ? '[]' : ']');
  } else {
    let mark = '{';
    // RFC 8785 sorts by UTF-16 code units, as `sort` does by itself.
    for (const name of Object.keys(value).sort()) {
      write(`${mark}${JSON.stringify(name)}:`);
      writeValue((value as Record<string, unknown>)[name], write);
      mark = ',';
    }
    write(mark === '{' ? '{}' : '}');
  }
}

function requireJson(value: unknown, depth: number): void {
  if (value === null || typeof value === 'boolean') return;
  if (typeof value === 'string') {
    requireWellFormed(value);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('Not JSON: a number that is not finite');
  } else if (typeof value === 'object') {
    requireJsonContainer(value, depth);
  } else {
    throw new TypeError(`Not JSON: a value of type ${typeof value}`);
  }
}

function requireJsonContainer(value: object, depth: number): void {
  if (depth === MAX_DEPTH) throw new TypeError(`Not JSON: deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    for (const item of value) requireJson(item, depth + 1);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError('Not JSON: an object that is not plain');
  }
  for (const [name, member] of Object.entries(value)) {
    if (name === '__proto__') throw new TypeError('Not JSON: a member named __proto__');
    requireWellFormed(name);
    requireJson(member, depth + 1);
  }
}

function requireWellFormed(text: string): void {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError('Not JSON: a lone surrogate');
}
