// Reads receipts: what the service states about an anchor.
import type { StatedAnchor } from '../audit-anchor.ts';
import { DocumentError } from '../document-error.ts';
import type { JsonValue } from '../json-value.ts';
import { DECIMAL, HASH, isObject, Members, own, TIME, UUID } from './members.ts';

/** The `format` of a receipt. */
const RECEIPT_FORMAT = 'svc-receipt/1';

/** The `format` of a receipt for work that the robot signed. */
export const SIGNED_RECEIPT_FORMAT = 'svc-receipt/2';

const FINALITY = {
  pattern: /^(?:included|safe|finalized|reorged)$/,
  name: 'included, safe, finalized or reorged',
};
const VERIFIED = { pattern: /^verified$/, name: 'verified' };

/** A receipt: the anchor that it states, and members that no check covers. */
export interface Receipt {
  readonly stated: StatedAnchor;
  readonly unproven: { readonly explorer_url: string; readonly finality: string };
}

/** Whether a document is meant as a receipt, so that a malformed one is not taken for evidence. */
export function saysItIsReceipt(document: JsonValue): boolean {
  if (!isObject(document)) return false;
  const format = own(document, 'format');
  if (typeof format === 'string' && format.startsWith('svc-')) return true;
  return ['verification', 'proof_hash', 'tx_hash'].some((name) => Object.hasOwn(document, name));
}

/**
 * Reads a receipt, or the answer to a completion, which has the receipt under `verification` and nothing else. A receipt
 * without a format has the first one.
 *
 * @throws DocumentError when the format is another one, or a member is missing, malformed or unknown.
 */
export function readReceipt(document: JsonValue): Receipt {
  if (isObject(document) && Object.hasOwn(document, 'verification')) {
    const answer = new Members('receipt', document);
    const receipt = answer.value('verification');
    answer.requireNoOther();
    return readReceipt(receipt ?? null);
  }
  const receipt = new Members('receipt', document);
  const isSigned = receipt.value('format') === SIGNED_RECEIPT_FORMAT;
  if (receipt.has('format') && receipt.value('format') !== RECEIPT_FORMAT && !isSigned) {
    const formats = `"${RECEIPT_FORMAT}" or "${SIGNED_RECEIPT_FORMAT}"`;
    throw new DocumentError('receipt', `format must be ${formats}`);
  }
  if (receipt.value('status') === 'pending') {
    throw new DocumentError('receipt', 'its proof is pending, and this answer has no promise');
  }
  receipt.text('status', VERIFIED);
  const read = {
    stated: {
      chain_id: receipt.integer('chain_id', 1),
      proof_hash: receipt.hex('proof_hash', HASH),
      task_id: receipt.text('task_id', UUID),
      robot_id: receipt.text('robot_id', UUID),
      claim_hash: receipt.hex('claim_hash', HASH),
      ...(isSigned ? { statement_hash: receipt.hex('statement_hash', HASH) } : {}),
      inclusion: receipt.inclusion(),
      tx_hash: receipt.hex('tx_hash', HASH),
      block_number: receipt.text('block_number', DECIMAL),
      anchored_at: receipt.text('anchored_at', TIME),
    },
    unproven: {
      explorer_url: receipt.text('explorer_url'),
      finality: receipt.text('finality', FINALITY),
    },
  };
  receipt.requireNoOther();
  return read;
}
