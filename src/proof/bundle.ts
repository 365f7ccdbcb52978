// Reads and writes bundles: everything needed to check a proof without the service.
import type { Hex } from './bytes.ts';
import { DocumentError } from './document-error.ts';
import type { JsonObject, JsonValue, Proof } from './json-value.ts';
import { readSigning, type Signing } from './statements/signing.ts';
import { MAX_PROOF_DEPTH } from './strict-json.ts';
import {
  type AnchorMembers,
  anchorIn,
  type ChainProof,
  chainProofIn,
} from './subject/anchor-members.ts';
import { HASH, isObject, Members, own, TIME, UUID } from './subject/members.ts';
import type { Inclusion } from './tree.ts';

/** The `format` of a bundle without a chain proof. A new version of the format gets a new number. */
export const BUNDLE_FORMAT = 'svc-bundle/1';

/** The `format` of a bundle with a chain proof. */
export const PROVEN_BUNDLE_FORMAT = 'svc-bundle/2';

/** The `format` of a bundle of work that the robot signed, with or without a chain proof. */
export const SIGNED_BUNDLE_FORMAT = 'svc-bundle/3';

const FORMATS = [BUNDLE_FORMAT, PROVEN_BUNDLE_FORMAT, SIGNED_BUNDLE_FORMAT] as const;

/** For `parseStrictJson`: `expected_result` of a claim may nest as deep as a proof, and is two levels down. */
export const MAX_BUNDLE_DEPTH = MAX_PROOF_DEPTH + 2;

/**
 * A JSON document that suffices to check a proof: with a node of the chain, or, if it has a chain proof, with the hash
 * of the block. Ids are UUIDs in lowercase, times are
 * ISO 8601 in UTC with milliseconds, and `block_number` is a decimal string.
 */
export interface Bundle {
  readonly format: (typeof FORMATS)[number];
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
  readonly anchor: AnchorMembers;
  /** Present in `svc-bundle/2`, and possible in `svc-bundle/3`. */
  readonly chain_proof?: ChainProof;
  /** Present in `svc-bundle/3` and nowhere else. */
  readonly signing?: Signing;
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
 * @throws DocumentError when the format is another one, or a member is missing, malformed or unknown.
 */
export function readBundle(document: JsonValue): Bundle {
  const bundle = new Members('bundle', document);
  const stated = bundle.value('format');
  const format = FORMATS.find((one) => one === stated);
  if (format === undefined) {
    const found = typeof stated === 'string' ? `, not ${JSON.stringify(stated.slice(0, 40))}` : '';
    const formats = `"${BUNDLE_FORMAT}", "${PROVEN_BUNDLE_FORMAT}" or "${SIGNED_BUNDLE_FORMAT}"`;
    throw new DocumentError('bundle', `format must be ${formats}${found}`);
  }
  const isSigned = format === SIGNED_BUNDLE_FORMAT;
  const hasChainProof = format === PROVEN_BUNDLE_FORMAT || (isSigned && bundle.has('chain_proof'));
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
    inclusion: bundle.inclusion(),
    anchor: anchorIn(anchor),
    ...(hasChainProof ? { chain_proof: chainProofIn(bundle.object('chain_proof')) } : {}),
    ...(isSigned ? { signing: readSigning(bundle.object('signing')) } : {}),
  };
  for (const members of [bundle, task, claim, anchor]) members.requireNoOther();
  return read;
}
