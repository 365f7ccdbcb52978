// Reads the members of a bundle or receipt, each by its form.
import type { Hex } from '../bytes.ts';
import { DocumentError } from '../document-error.ts';
import { isProof, type JsonObject, type JsonValue, type Proof } from '../json-value.ts';
import { pointerStep } from '../strict-json-error.ts';
import type { Inclusion } from '../tree.ts';

/** Most trie nodes read, and the longest one in bytes. A path has at most 9 nodes; the last holds the transaction. */
export const MAX_PATH_NODES = 16;
export const MAX_NODE_BYTES = 131_584;

interface Form {
  readonly pattern: RegExp;
  readonly name: string;
}

export const UUID: Form = {
  pattern: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  name: 'a UUID in lowercase',
};
export const TIME: Form = {
  pattern: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  name: 'a UTC time with milliseconds',
};
export const DECIMAL: Form = { pattern: /^(?:0|[1-9]\d{0,77})$/, name: 'a decimal string' };
export const HASH: Form = { pattern: /^0x[0-9a-f]{64}$/, name: '32 bytes of lower-case hex' };
export const ADDRESS: Form = { pattern: /^0x[0-9a-f]{40}$/, name: '20 bytes of lower-case hex' };
export const BYTES: Form = { pattern: /^0x(?:[0-9a-f]{2})+$/, name: 'bytes of lower-case hex' };

/** The own members of one object of the document. */
export class Members {
  readonly #noun: DocumentError['document'];
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #pointer: string;
  readonly #read = new Set<string>();

  constructor(noun: DocumentError['document'], value: JsonValue | undefined, path = '') {
    this.#noun = noun;
    this.#path = path === '' ? '' : `${path}.`;
    this.#pointer = path === '' ? '' : path.split('.').map(pointerStep).join('');
    if (!isObject(value)) {
      throw new DocumentError(noun, `${path || `the ${noun}`} must be a JSON object`);
    }
    this.#object = value;
  }

  has(name: string): boolean {
    this.#read.add(name);
    return Object.hasOwn(this.#object, name);
  }

  value(name: string): JsonValue | undefined {
    this.#read.add(name);
    return own(this.#object, name);
  }

  /** Call it after the other members were read. @throws DocumentError */
  requireNoOther(): void {
    const other = Object.keys(this.#object).find((name) => !this.#read.has(name));
    if (other === undefined) return;
    const pointer = this.#pointer + pointerStep(other);
    const message = `${pointer} is not a member of a ${this.#noun}`;
    throw new DocumentError(this.#noun, message, pointer);
  }

  /** @throws DocumentError if the member has another value. */
  require(name: string, value: string | number): void {
    if (this.value(name) !== value) throw this.#mustBe(name, JSON.stringify(value));
  }

  object(name: string): Members {
    return new Members(this.#noun, this.value(name), this.#path + name);
  }

  /** An array of objects, at least one. */
  list(name: string): Members[] {
    const value = this.value(name);
    if (!Array.isArray(value) || value.length === 0) throw this.#mustBe(name, 'a list of objects');
    return value.map((item, i) => new Members(this.#noun, item, `${this.#path}${name}[${i}]`));
  }

  nullable<T>(name: string, read: (name: string) => T): T | null {
    return this.value(name) === null ? null : read(name);
  }

  /** Null if the proof was anchored alone. */
  inclusion(): Inclusion | null {
    return this.nullable('inclusion', () => this.batchInclusion());
  }

  batchInclusion(): Inclusion {
    const members = this.object('inclusion');
    const inclusion = {
      root: members.hex('root', HASH),
      leaf_index: members.integer('leaf_index', 0),
      leaf_count: members.integer('leaf_count', 2),
      path: members.hashes('path'),
    };
    members.requireNoOther();
    return inclusion;
  }

  json(name: string): JsonObject {
    const value = this.value(name);
    if (!isObject(value)) throw this.#mustBe(name, 'a JSON object');
    return value;
  }

  proof(name: string): Proof {
    const value = this.value(name);
    if (!isProof(value)) throw this.#mustBe(name, 'a JSON object or array');
    return value;
  }

  text(name: string, form?: Form): string {
    const value = this.value(name);
    if (typeof value !== 'string') throw this.#mustBe(name, form?.name ?? 'a string');
    if (form !== undefined && !form.pattern.test(value)) throw this.#mustBe(name, form.name);
    return value;
  }

  hex(name: string, form: Form): Hex {
    return this.text(name, form) as Hex; // The form holds its prefix and digits.
  }

  bytes(name: string, most: number): Hex {
    const value = this.value(name);
    if (isBytes(value, most)) return value;
    throw this.#mustBe(name, `${BYTES.name}, at most ${most} bytes`);
  }

  hashes(name: string): Hex[] {
    const value = this.value(name);
    if (!Array.isArray(value)) throw this.#mustBe(name, 'an array of hashes');
    return value.map((item) => {
      if (typeof item === 'string' && HASH.pattern.test(item)) return item as Hex;
      throw this.#mustBe(name, 'an array of hashes');
    });
  }

  /** An array of 1 to `most` texts of at most `bytes` bytes each. `noun` says what they are. */
  manyBytes(name: string, noun: string, most: number, bytes: number): Hex[] {
    const value = this.value(name);
    const isShort = Array.isArray(value) && value.length > 0 && value.length <= most;
    if (isShort && value.every((item) => isBytes(item, bytes))) return value;
    throw this.#mustBe(name, `an array of 1 to ${most} ${noun}, ${BYTES.name}`);
  }

  integer(name: string, minimum: number): number {
    const value = this.value(name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum) return value;
    throw this.#mustBe(name, `a whole number from ${minimum}`);
  }

  boolean(name: string): boolean {
    const value = this.value(name);
    if (typeof value === 'boolean') return value;
    throw this.#mustBe(name, 'true or false');
  }

  #mustBe(name: string, what: string): DocumentError {
    return new DocumentError(this.#noun, `${this.#path}${name} must be ${what}`);
  }
}

function isBytes(value: JsonValue | undefined, most: number): value is Hex {
  return typeof value === 'string' && value.length <= 2 + 2 * most && BYTES.pattern.test(value);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
