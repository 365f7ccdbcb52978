import type { AnchoringContext } from './anchoring-context.ts';
import type { LiveAttempt, LiveAttempts } from './attempts.ts';

/** Attempts whose nonce is used, while no variant of theirs is known to be in a block with success. */
export function suspectsOf({ attempts, counted }: LiveAttempts): LiveAttempt[] {
  if (counted === null) return [];
  return attempts.filter(
    ({ nonce, mined, failed }) => nonce < counted.latestNonce && (!mined || failed),
  );
}

/**
 * Those of the suspects that can never be anchors: by the word of all providers their nonce is used in a final
 * block, and none of them knows a variant that succeeded.
 */
export async function findLost(
  { chain, identity, lease, signal }: AnchoringContext,
  suspects: readonly LiveAttempt[],
  headNumber: bigint,
): Promise<string[]> {
  if (suspects.length === 0) return [];
  const { sender } = lease;
  const count = await chain.finalizedCount({ identity, sender }, signal);
  const anchors = suspects.filter(({ nonce }) => count !== null && nonce < count);
  if (anchors.length === 0) return [];
  // After the count, so that receipts are not read at an earlier block than it.
  const search = { identity, sender, anchors, confirmations: 1n, askAll: true };
  const found = await chain.findMined(search, signal);
  if (!found.isUnanimous || found.headNumber < headNumber) return [];
  const alive = new Set(
    found.mined
      .filter(({ outcome }) => outcome === 'success' || outcome === 'shallow')
      .map(({ id }) => id),
  );
  return anchors.map(({ id }) => id).filter((id) => !alive.has(id));
}
