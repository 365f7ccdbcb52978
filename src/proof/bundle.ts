// Reads and writes bundles: everything needed to check a proof without the service.
import { BundleError } from './bundle-error.ts';
import type { Hex } from './bytes.ts';
import { isProof, type JsonObject, type JsonValue, type Proof } from './json-value.ts';
import { MAX_PROOF_DEPTH } from './strict-json.ts';
import { pointerStep } from './strict-json-error.ts';
import type { Inclusion } from './tree.ts';

/** The `format` of a bundle without a chain proof. A new version of the format gets a new number. */
export const BUNDLE_FORMAT = 'svc-bundle/1';

/** The `format` of a bundle with a chain proof. */
export const PROVEN_BUNDLE_FORMAT = 'svc-bundle/2';

/** Longest block header read, in bytes. Headers have about 650; those of Polygon can have several KiB. */
export const MAX_HEADER_BYTES = 65_536;

/** Most trie nodes read, and the longest one in bytes. A path has at most 9 nodes; the last holds the transaction. */
export const MAX_PATH_NODES = 16;
export const MAX_NODE_BYTES = 131_584;

/** For `parseStrictJson`: `expected_result` of a claim may nest as deep as a proof, and is two levels down. */
export const MAX_BUNDLE_DEPTH = MAX_PROOF_DEPTH + 2;

/** Proves that a block contains a transaction, to anyone who has the hash of the block. */
export interface ChainProof {
  /** The block header in RLP. */
  readonly header: Hex;
  /** RLP of the nodes of the transactions trie, from the root down to the leaf that holds the transaction. */
  readonly nodes: readonly Hex[];
}

/**
 * A JSON document that suffices to check a proof: with a node of the chain, or, if it has a chain proof, with the hash
 * of the block. Ids are UUIDs in lowercase, times are
 * ISO 8601 in UTC with milliseconds, and `block_number` is a decimal string.
 */
export interface Bundle {
  readonly format: typeof BUNDLE_FORMAT | typeof PROVEN_BUNDLE_FORMAT;
  readonly chain_id: number;
  readonly task: {
    readonly id: string;
    readonly robot_id: string;
    /** Stated, not proven. */
    readonly robot_name: string;
  };
  /** What the robot claimed. Its hash is in the leaf, with that of the proof: nothing shows which came first. */
  readonly claim: {
    readonly created_at: string;
    readonly description: string | null;
    readonly expected_result: JsonObject | null;
    readonly occurred_at: string | null;
    readonly title: string;
  };
  /** Absent if the evidence was omitted or erased. */
  readonly proof?: Proof;
  readonly proof_hash: Hex;
  /** Null if the proof was anchored alone. */
  readonly inclusion: Inclusion | null;
  readonly anchor: {
    readonly tx_hash: Hex;
    readonly block_number: string;
    readonly block_hash: Hex;
    readonly tx_index: number;
    readonly from: Hex;
    readonly anchored_at: string;
    /** The signed transaction. */
    readonly raw_tx: Hex;
  };
  /** Present in `svc-bundle/2` and nowhere else. */
  readonly chain_proof?: ChainProof;
}

/** Whether the `format` of a document is a bundle, of any version. */
export function saysItIsBundle(document: JsonValue): boolean {
  if (!isObject(document)) return false;
  const format = own(document, 'format');
  return typeof format === 'string' && format.startsWith('svc-bundle/');
}

/**
 * Reads a bundle. Every member is checked by its form. A member that the format does not have is an error, because no
 * check would cover it.
 *
 * @throws BundleError when the format is another one, or a member is missing, malformed or unknown.
 */
export function readBundle(document: JsonValue): Bundle {
  const bundle = new Members(document, '');
  const format = bundle.value('format');
  if (format !== BUNDLE_FORMAT && format !== PROVEN_BUNDLE_FORMAT) {
    const found = typeof format === 'string' ? `, not ${JSON.stringify(format.slice(0, 40))}` : '';
    throw new BundleError(`format must be "${BUNDLE_FORMAT}" or "${PROVEN_BUNDLE_FORMAT}"${found}`);
  }
  const task = bundle.object('task');
  const claim = bundle.object('claim');
  const anchor = bundle.object('anchor');
  const read: Bundle = {
    format,
    chain_id: bundle.integer('chain_id', 1),
    task: {
      id: task.text('id', UUID),
      robot_id: task.text('robot_id', UUID),
      robot_name: task.text('robot_name'),
    },
    claim: {
      created_at: claim.text('created_at', TIME),
      description: claim.nullable('description', (name) => claim.text(name)),
      expected_result: claim.nullable('expected_result', (name) => claim.json(name)),
      occurred_at: claim.nullable('occurred_at', (name) => claim.text(name)),
      title: claim.text('title'),
    },
    ...(bundle.has('proof') ? { proof: bundle.proof('proof') } : {}),
    proof_hash: bundle.hex('proof_hash', HASH),
    inclusion: bundle.nullable('inclusion', (name) => inclusionIn(bundle.object(name))),
    anchor: {
      tx_hash: anchor.hex('tx_hash', HASH),
      block_number: anchor.text('block_number', DECIMAL),
      block_hash: anchor.hex('block_hash', HASH),
      tx_index: anchor.integer('tx_index', 0),
      from: anchor.hex('from', ADDRESS),
      anchored_at: anchor.text('anchored_at', TIME),
      raw_tx: anchor.hex('raw_tx', BYTES),
    },
    ...(format === PROVEN_BUNDLE_FORMAT
      ? { chain_proof: chainProofIn(bundle.object('chain_proof')) }
      : {}),
  };
  for (const members of [bundle, task, claim, anchor]) members.requireNoOther();
  return read;
}

function inclusionIn(members: Members): Inclusion {
  const inclusion = {
    root: members.hex('root', HASH),
    leaf_index: members.integer('leaf_index', 0),
    leaf_count: members.integer('leaf_count', 2),
    path: members.hashes('path'),
  };
  members.requireNoOther();
  return inclusion;
}

function chainProofIn(members: Members): ChainProof {
  const chainProof = {
    header: members.bytes('header', MAX_HEADER_BYTES),
    nodes: members.nodes('nodes'),
  };
  members.requireNoOther();
  return chainProof;
}

interface Form {
  readonly pattern: RegExp;
  readonly name: string;
}

const UUID: Form = {
  pattern: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  name: 'a UUID in lowercase',
};
const TIME: Form = {
  pattern: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  name: 'a UTC time with milliseconds',
};
const DECIMAL: Form = { pattern: /^(?:0|[1-9]\d{0,77})$/, name: 'a decimal string' };
const HASH: Form = { pattern: /^0x[0-9a-f]{64}$/, name: '32 bytes of lower-case hex' };
const ADDRESS: Form = { pattern: /^0x[0-9a-f]{40}$/, name: '20 bytes of lower-case hex' };
const BYTES: Form = { pattern: /^0x(?:[0-9a-f]{2})+$/, name: 'bytes of lower-case hex' };

/** The own members of one object of the document. */
class Members {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #pointer: string;
  readonly #read = new Set<string>();

  constructor(value: JsonValue | undefined, path: string) {
    this.#path = path === '' ? '' : `${path}.`;
    this.#pointer = path === '' ? '' : pointerStep(path);
    if (!isObject(value)) throw new BundleError(`${path || 'the bundle'} must be a JSON object`);
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

  /** Call it after the other members were read. @throws BundleError */
  requireNoOther(): void {
    const other = Object.keys(this.#object).find((name) => !this.#read.has(name));
    if (other === undefined) return;
    const pointer = this.#pointer + pointerStep(other);
    throw new BundleError(`${pointer} is not a member of a bundle`, pointer);
  }

  object(name: string): Members {
    return new Members(this.value(name), this.#path + name);
  }

  nullable<T>(name: string, read: (name: string) => T): T | null {
    return this.value(name) === null ? null : read(name);
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

  nodes(name: string): Hex[] {
    const value = this.value(name);
    const isPath = Array.isArray(value) && value.length > 0 && value.length <= MAX_PATH_NODES;
    if (isPath && value.every((node) => isBytes(node, MAX_NODE_BYTES))) return value;
    throw this.#mustBe(name, `an array of 1 to ${MAX_PATH_NODES} trie nodes, ${BYTES.name}`);
  }

  integer(name: string, minimum: number): number {
    const value = this.value(name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum) return value;
    throw this.#mustBe(name, `a whole number from ${minimum}`);
  }

  #mustBe(name: string, what: string): BundleError {
    return new BundleError(`${this.#path}${name} must be ${what}`);
  }
}

function isBytes(value: JsonValue | undefined, most: number): value is Hex {
  return typeof value === 'string' && value.length <= 2 + 2 * most && BYTES.pattern.test(value);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
