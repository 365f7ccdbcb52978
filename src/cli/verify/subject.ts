// Recognizes what `svc verify` is given: a hash, a task id, the address of a proof, or a document.
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import { type Bundle, MAX_BUNDLE_DEPTH, readBundle, saysItIsBundle } from '../../proof/bundle.ts';
import { statedAnchorOf } from '../../proof/bundle-checks.ts';
import { BundleError } from '../../proof/bundle-error.ts';
import { hashProof } from '../../proof/hash.ts';
import { isProof, type JsonValue } from '../../proof/json-value.ts';
import { pointerStep } from '../../proof/strict-json-error.ts';
import { Nullable } from '../../protocol/fields.ts';
import { Inclusion, Verification } from '../../protocol/resources.ts';
import { kindOf } from '../../protocol/schema-error.ts';
import { nameOf, parseJson, readText } from '../input/files.ts';

/** What `svc verify` recognized. */
type Kind = 'proof hash' | 'proof URL' | 'task id' | 'receipt' | 'bundle' | 'evidence';

/** What `svc verify` checks. For a hash, only the service knows the rest. */
export interface Subject {
  kind: Kind | 'transaction hash';
  proofHash: string;
  /** The task that the argument names; null if it names only evidence. */
  taskId: string | null;
  /** The document's statement about the anchor; null without a document. */
  stated: StatedAnchor | null;
  /** Null if the document is not a bundle. */
  bundle: Bundle | null;
  /** What the document states that no check covers, by name. */
  unproven: Readonly<Record<string, string>>;
  /** JSON Pointers of numbers in the document that count as 0 (see `StrictJsonOptions`). */
  underflows: readonly string[];
}

/** A task id, which only the service can resolve, or the subject itself. */
type Recognized = Subject | { kind: 'task id'; taskId: string };

const HASH = /^(?:0x)?[0-9a-fA-F]{64}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Recognizes a hash (with or without 0x), a task id, the address of a proof page, or a file (`-` for standard input)
 * with a receipt, a bundle or evidence. Standard input may also hold a hash.
 */
export async function readSubject(argument: string): Promise<Recognized> {
  if (HASH.test(argument)) return subjectOfHash('proof hash', argument);
  if (UUID.test(argument)) return { kind: 'task id', taskId: argument.toLowerCase() };
  if (/^https?:/i.test(argument)) return subjectOfUrl(argument);
  if (/^0x[0-9a-fA-F]*$/.test(argument)) {
    throw new SvcError('usage', `${argument} is not a hash: 0x and 64 hex digits.`);
  }
  const text = await readText(argument);
  const name = nameOf(argument);
  if (HASH.test(text.trim())) {
    if (argument !== '-') throw mayBeKey(name);
    return subjectOfHash('proof hash', text.trim());
  }
  const underflows: string[] = [];
  const json = parseJson(argument, text, {
    maxDepth: MAX_BUNDLE_DEPTH,
    onUnderflow: (pointer) => underflows.push(pointer),
  });
  return { ...subjectOfDocument(name, json), underflows };
}

/** The subject that a receipt states. `name` is that of the file, or of what stands for one. */
export function subjectOfReceipt(kind: Subject['kind'], name: string, document: unknown): Subject {
  const receipt = receiptOf(name, document);
  const { chain_id, proof_hash, task_id, robot_id, claim_hash, inclusion } = receipt;
  const { tx_hash, block_number, anchored_at, explorer_url, finality } = receipt;
  return {
    ...empty,
    kind,
    proofHash: proof_hash,
    taskId: task_id,
    stated: {
      chain_id,
      proof_hash,
      task_id,
      robot_id,
      claim_hash,
      inclusion,
      tx_hash,
      block_number,
      anchored_at,
    },
    unproven: { explorer_url, finality },
  };
}

/** The subject of a hash in any case, with or without 0x. */
export function subjectOfHash(kind: Subject['kind'], text: string): Subject {
  const digits = text.toLowerCase().replace(/^0x/, '');
  return { ...empty, kind, proofHash: `0x${digits}` };
}

const empty = { taskId: null, stated: null, bundle: null, unproven: {}, underflows: [] };

/** The address of a proof page names a hash, and never the service to ask: anyone can send an address. */
function subjectOfUrl(text: string): Subject {
  const url = URL.canParse(text) ? new URL(text) : null;
  const hash = /\/verify\/(0x[0-9a-fA-F]{64})\/?$/.exec(url?.pathname ?? '')?.[1];
  if (url === null || hash === undefined) {
    throw new SvcError(
      'usage',
      `${text} is not the address of a proof: …/verify/0x and 64 digits.`,
    );
  }
  const taskId = url.searchParams.get('task_id')?.toLowerCase() ?? null;
  if (taskId !== null && !UUID.test(taskId)) {
    throw new SvcError('usage', 'The task_id in the address of the proof is not a UUID.');
  }
  return { ...subjectOfHash('proof URL', hash), taskId };
}

/** A private key looks like a hash, and verifying it would send it to the service. */
function mayBeKey(name: string): SvcError {
  return new SvcError(
    'usage',
    `${name} contains only 64 hex digits and may be a private key; nothing was sent.`,
    {
      hint: 'Give the proof hash itself (svc verify 0x…), or pipe it to svc verify -',
    },
  );
}

function subjectOfDocument(name: string, json: JsonValue): Subject {
  if (saysItIsBundle(json)) {
    const bundle = bundleOf(name, json);
    return {
      ...empty,
      kind: 'bundle',
      proofHash: bundle.proof_hash,
      taskId: bundle.task.id,
      stated: statedAnchorOf(bundle),
      bundle,
      unproven: { robot_name: bundle.task.robot_name },
    };
  }
  if (isProof(json) && !looksLikeReceipt(json)) {
    return { ...empty, kind: 'evidence', proofHash: hashProof(json) };
  }
  return subjectOfReceipt('receipt', name, receiptIn(name, json));
}

/** Whether a document is meant as a receipt, so that a malformed one is not taken for evidence. */
function looksLikeReceipt(json: object): boolean {
  const { format } = json as { format?: unknown };
  if (typeof format === 'string' && format.startsWith('svc-')) return true;
  return 'verification' in json || 'proof_hash' in json || 'tx_hash' in json;
}

/** @throws SvcError `invalid_document`, `unknown_member` */
function receiptOf(name: string, document: unknown): Verification {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw notReceipt(name, 'a receipt is a JSON object');
  }
  const { format = receiptFormat.const, ...members } = document as Record<string, unknown>;
  if (format !== receiptFormat.const) {
    throw new SvcError('invalid_document', `${name} is not a receipt of ${receiptFormat.const}.`, {
      hint: 'If the format is newer than svc, update svc.',
    });
  }
  for (const [member, schema] of Object.entries(receiptMembers)) {
    if (!Object.hasOwn(members, member)) throw notReceipt(name, `${member} is missing`);
    if (!Value.Check(schema, members[member])) {
      throw notReceipt(name, `${member} must be ${kindOf(schema)}`);
    }
  }
  requireNoOther(name, members, receiptMembers, '');
  const receipt = { format, ...members } as Verification; // Every member was checked.
  if (receipt.inclusion !== null) {
    requireNoOther(name, receipt.inclusion, Inclusion.properties, '/inclusion');
  }
  return receipt;
}

const { format: receiptFormat, ...verification } = Verification.properties;

/** Unknown members are refused by name. A receipt without a format has the first one. */
const receiptMembers = {
  ...verification,
  inclusion: Nullable(Type.Object(Inclusion.properties)),
};

function notReceipt(name: string, problem: string): SvcError {
  return new SvcError('invalid_document', `${name} is not a receipt: ${problem}.`, {
    hint: 'Give a hash, a receipt, a bundle, evidence, a task id or the address of a proof.',
  });
}

/** The answer to a completion holds the receipt under `verification`, and nothing else. */
function receiptIn(name: string, document: JsonValue): unknown {
  if (typeof document !== 'object' || document === null || !('verification' in document)) {
    return document;
  }
  requireNoOther(name, document, { verification: true }, '');
  return document.verification;
}

/** Refuses a member that no check covers. `place` is the JSON Pointer to `object`. */
function requireNoOther(name: string, object: object, known: object, place: string): void {
  const other = Object.keys(object).find((member) => !Object.hasOwn(known, member));
  if (other === undefined) return;
  throw unknownMember(name, place + pointerStep(other));
}

function unknownMember(name: string, pointer: string): SvcError {
  return new SvcError('unknown_member', `NOT verified: no check covers ${pointer} in ${name}.`, {
    hint: 'Verify the receipt or bundle alone, as the service wrote it. To check evidence, use --proof FILE.',
  });
}

function bundleOf(name: string, document: JsonValue): Bundle {
  try {
    return readBundle(document);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    if (error.unknownMember !== null) throw unknownMember(name, error.unknownMember);
    throw new SvcError('invalid_document', `${name} is not a bundle: ${error.message}.`, {
      hint: 'If the format is newer than svc, update svc.',
    });
  }
}
