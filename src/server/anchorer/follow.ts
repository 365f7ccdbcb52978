import type { MinedAnchor, MinedTransaction } from '../../chain/find-mined.ts';
import type { AnchoringContext } from './anchoring-context.ts';
import { isInBlock, type LiveAttempt, type LiveAttempts } from './attempts.ts';

/** Whether a receipt may still change something. */
export function isFollowed(attempt: LiveAttempt): boolean {
  return !isInBlock(attempt);
}

/**
 * Step 5: looks for the receipts of everything sent, and records what is included deep enough, to be settled next.
 * Answers the head the receipts were read at; null when nothing was to be read.
 */
export async function follow(
  context: AnchoringContext,
  live: LiveAttempts,
): Promise<bigint | null> {
  const { chain, identity, lease, options, signal } = context;
  const now = performance.now();
  const followed = live.attempts.filter((one) => isFollowed(one) && now >= one.lookAt);
  if (followed.length === 0) return null;
  const { headNumber, mined } = await chain.findMined(
    {
      identity,
      sender: lease.sender,
      anchors: followed,
      confirmations: BigInt(options.confirmations),
    },
    signal,
  );
  const byId = new Map(mined.map((anchor) => [anchor.id, anchor]));
  for (const attempt of followed) {
    const anchor = byId.get(attempt.id);
    // A block that is gone frees no place: the transaction is in flight again.
    attempt.mined = anchor !== undefined;
    if (anchor?.outcome === 'reverted' || anchor?.outcome === 'altered') {
      noteFailure(context, attempt, anchor);
    } else {
      attempt.failed = false;
    }
    if (anchor?.outcome === 'success') await include(context, attempt, anchor.mined);
  }
  live.nonceConflict = hasNonceConflict(live, headNumber);
  return headNumber;
}

function noteFailure(
  { logger, options }: AnchoringContext,
  attempt: LiveAttempt,
  { outcome, mined }: Extract<MinedAnchor, { mined: MinedTransaction }>,
): void {
  attempt.lookAt = performance.now() + options.pauses.failedLookMs;
  if (attempt.failed) return;
  attempt.failed = true;
  logger.error({ attempt: attempt.id, tx_hash: mined.txHash, outcome }, 'mined, but no anchor');
}

async function include(
  context: AnchoringContext,
  attempt: LiveAttempt,
  mined: MinedTransaction,
): Promise<void> {
  const { store, lease, clock } = context;
  await context.onStep?.('inclusion_found');
  await store.recordInclusion(lease, attempt.id, mined, clock.now());
  attempt.state = 'included';
  await context.onStep?.('inclusion_recorded');
}

/**
 * A nonce that the survey counted as used must have a receipt at that head. Without one, a transaction
 * that is not ours has taken it.
 */
function hasNonceConflict({ counted, attempts }: LiveAttempts, headNumber: bigint): boolean {
  if (counted === null || headNumber < counted.headNumber) return false;
  return attempts.some(({ mined, nonce }) => !mined && nonce < counted.latestNonce);
}
