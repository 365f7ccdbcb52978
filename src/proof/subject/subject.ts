// Recognizes what is to be verified: a hash, a task id, the address of a proof page, or a document.
import type { StatedAnchor } from '../audit-anchor.ts';
import { type Bundle, MAX_BUNDLE_DEPTH, readBundle, saysItIsBundle } from '../bundle.ts';
import { statedAnchorOf } from '../bundle-checks.ts';
import { hashProof } from '../hash.ts';
import { isProof, type JsonValue, type Proof } from '../json-value.ts';
import { decodePayload } from '../payload.ts';
import { parseStrictJson, type StrictJsonOptions } from '../strict-json.ts';
import { readReceipt, saysItIsReceipt } from './receipt.ts';

type Kind =
  | 'proof hash'
  | 'transaction hash'
  | 'proof URL'
  | 'task id'
  | 'receipt'
  | 'bundle'
  | 'evidence';

/** What is checked. For a hash, only the service knows the rest. */
export interface Subject {
  readonly kind: Kind;
  readonly proofHash: string;
  /** The task that is named; null if only evidence is. */
  readonly taskId: string | null;
  /** The document's statement about the anchor; null without a document. */
  readonly stated: StatedAnchor | null;
  /** Null if the document is not a bundle. */
  readonly bundle: Bundle | null;
  /** The evidence, if the document has it. */
  readonly proof: Proof | null;
  /** What the document states that no check covers, by name. */
  readonly unproven: Readonly<Record<string, string>>;
  /** JSON Pointers of numbers in the document that count as 0 (see `StrictJsonOptions`). */
  readonly underflows?: readonly string[];
}

/** The subject itself, or the id of a task, which only the service can resolve. */
export type Recognized = Subject | { readonly kind: 'task id'; readonly taskId: string };

const HASH = /^(?:0x)?[0-9a-f]{64}$/i;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const empty = { taskId: null, stated: null, bundle: null, proof: null, unproven: {} };

/** Recognizes a hash with or without 0x, a task id, or the address of a proof page; null for any other text. */
export function recognizeText(text: string): Recognized | null {
  if (HASH.test(text)) return subjectOfHash('proof hash', text);
  if (UUID.test(text)) return { kind: 'task id', taskId: text.toLowerCase() };
  return subjectOfUrl(text);
}

/**
 * Recognizes the text of a receipt, a bundle or evidence.
 *
 * @throws StrictJsonError, and DocumentError for a malformed receipt or bundle.
 */
export function recognizeDocument(
  text: string,
  options?: Pick<StrictJsonOptions, 'numbers'>,
): Subject {
  const underflows: string[] = [];
  const json = parseStrictJson(text, {
    ...options,
    maxDepth: MAX_BUNDLE_DEPTH,
    onUnderflow: (pointer) => underflows.push(pointer),
  });
  return { ...subjectOfDocument(json), underflows };
}

/** The subject of a hash in any case, with or without 0x. */
export function subjectOfHash(kind: Kind, text: string, taskId: string | null = null): Subject {
  const digits = text.toLowerCase().replace(/^0x/, '');
  return { ...empty, kind, proofHash: `0x${digits}`, taskId };
}

/** @throws DocumentError if the document is not a receipt. */
export function subjectOfReceipt(kind: Kind, document: JsonValue): Subject {
  const { stated, unproven } = readReceipt(document);
  const { proof_hash: proofHash, task_id: taskId } = stated;
  return { ...empty, kind, proofHash, taskId, stated, unproven };
}

/**
 * The subject of an anchoring transaction, by its calldata: its proof, or the number of its proofs if it has several.
 * Null if it anchors nothing.
 */
export function subjectOfCalldata(calldata: string): Subject | number | null {
  const payload = decodePayload(calldata);
  if (payload === null) return null;
  if (payload.kind === 'batch') return payload.leaf_count;
  return subjectOfHash('transaction hash', payload.proof_hash);
}

/** The address of a proof page names a hash, and never the service to ask: anyone can send an address. */
function subjectOfUrl(text: string): Subject | null {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return null;
  const { pathname, searchParams } = new URL(text);
  const hash = /\/verify\/(0x[0-9a-f]{64})\/?$/i.exec(pathname)?.[1];
  const taskId = searchParams.get('task_id')?.toLowerCase() ?? null;
  if (hash === undefined || (taskId !== null && !UUID.test(taskId))) return null;
  return subjectOfHash('proof URL', hash, taskId);
}

function subjectOfDocument(json: JsonValue): Subject {
  if (saysItIsBundle(json)) {
    const bundle = readBundle(json);
    return {
      ...empty,
      kind: 'bundle',
      proofHash: bundle.proof_hash,
      taskId: bundle.task.id,
      stated: statedAnchorOf(bundle),
      bundle,
      proof: bundle.proof ?? null,
      unproven: { robot_name: bundle.task.robot_name },
    };
  }
  if (isProof(json) && !saysItIsReceipt(json)) {
    return { ...empty, kind: 'evidence', proofHash: hashProof(json), proof: json };
  }
  return subjectOfReceipt('receipt', json);
}
