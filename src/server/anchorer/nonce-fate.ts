import type { NonceUse } from '../../chain/nonce-use.ts';
import { decodePayload } from '../../proof/payload.ts';
import type { OpenAttempt } from '../core/anchor-store.ts';

/**
 * What the transaction that has used an attempt's nonce means for it.
 * `own`: a variant. `adoptable`: an anchor of the same payload, signed after the backup that this database came from.
 * `stranger`: an anchor of something else, so another database uses the key, perhaps with the same proofs.
 * `lost`: no anchor, or one that the operator knows to be of another service.
 */
export type NonceFate = 'own' | 'adoptable' | 'stranger' | 'lost';

export function fateOf(
  { variants, payload, takenBy }: Pick<OpenAttempt, 'variants' | 'payload' | 'takenBy'>,
  use: NonceUse,
): NonceFate {
  if (variants.some(({ txHash }) => txHash === use.txHash)) return 'own';
  if (use.payload === payload) return 'adoptable';
  return isAnchor(use) && use.txHash !== takenBy ? 'stranger' : 'lost';
}

export function isAnchor({ payload }: NonceUse): boolean {
  return payload !== null && decodePayload(payload) !== null;
}
