// Finds and records the blocks that hold attempts, and resends what a reorganization dropped.
import { backoffMs } from '../../base/async/backoff.ts';
import type { MinedAnchor, MinedTransaction } from '../../chain/find-mined.ts';
import type { PlaceInclusion } from '../../chain/inclusion.ts';
import { lesser } from '../../chain/sender-state.ts';
import type { IncludedAttempt, InclusionChanges, MinedAttempt } from '../ports/anchoring.ts';
import { gasLimit, maxFeePerGas } from '../rules/credits.ts';
import { type AnchoringContext, readSenderState } from './context.ts';
import {
  hasUnexplainedNonce,
  isInBlock,
  isUsed,
  type LiveAttempt,
  type LiveAttempts,
} from './open-attempts.ts';

/**
 * Step 5: looks up the receipts of everything sent, and records inclusions that are deep enough, to be settled next.
 * Returns the head at which the receipts were read; null if there was nothing to look up.
 */
export async function follow(context: AnchoringContext, live: LiveAttempts) {
  const { chain, identity, lease, options, signal } = context;
  const now = performance.now();
  const followed = live.attempts.filter((one) => !isInBlock(one) && now >= one.lookAt);
  if (followed.length === 0) return null;
  const { headNumber, mined, unknown } = await chain.findMined(
    {
      identity,
      sender: lease.sender,
      anchors: followed,
      confirmations: BigInt(options.confirmations),
    },
    signal,
  );
  const byId = new Map(mined.map((anchor) => [anchor.id, anchor]));
  const reasons = new Map(unknown.map(({ id, reason }) => [id, reason]));
  for (const attempt of followed) {
    const anchor = byId.get(attempt.id);
    const reason = anchor === undefined ? reasons.get(attempt.id) : undefined;
    noteUnknown(context, attempt, reason ?? null);
    // If its block is gone, the transaction is in flight again and occupies its slot. An unknown receipt says nothing
    // about its block.
    const stays = reason !== undefined && attempt.mined && isUsed(live, attempt);
    attempt.mined = anchor !== undefined || stays;
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

/** Number of attempts in each of the three parts of a check. */
const WATCHED = 32;

type WatchedAttempt = IncludedAttempt & Partial<Pick<MinedAttempt, 'isFinal'>>;
type Place = Pick<IncludedAttempt, 'blockNumber' | 'id'>;

export function createIncludedWatch(context: AnchoringContext) {
  const { store, lease } = context;
  /** The next check continues below this place; null: from the highest blocks. */
  let cursor: Place | null = null;
  /** Attempts, final or not, that the chain may have lost and for which no other block was seen yet. */
  let lost: MinedAttempt[] = [];

  /** The next attempts between the ends; none if the ends cover all. */
  async function between(ends: readonly IncludedAttempt[]): Promise<IncludedAttempt[]> {
    const [lowest, highest] = [ends[WATCHED - 1], ends[WATCHED]];
    if (lowest === undefined || highest === undefined || ends.length < 2 * WATCHED) return [];
    cursor ??= highest;
    const next = await store.listIncludedBelow(lease, cursor, WATCHED);
    const last = next.at(-1);
    cursor = last === undefined || isBelow(last, lowest) ? null : last;
    return next;
  }

  return {
    /**
     * Checks attempts that are in a block and not final: the lowest blocks, which become final first; the highest, which
     * a reorganization replaces first; and, a few more at each check, those in between. `count`: the number of attempts
     * checked. `isMoreDue`: whether the next check should follow at once.
     */
    async look(live: LiveAttempts) {
      if (live.reorgedFrom !== null) lost = await resendAfterReorg(context, live.reorgedFrom);
      const ends = await store.listIncludedAttempts(lease, WATCHED);
      const all: WatchedAttempt[] = [...ends, ...(await between(ends)), ...lost];
      const included = [...new Map(all.map((one) => [one.id, one])).values()];
      const { unknown, ...changes } = await inclusionOf(context, included);
      lost = lost.filter(({ id }) => unknown.has(id));
      const replaced = new Set(changes.reorged);
      // Next, find out how far down the reorganization goes.
      cursor = ends.slice(WATCHED).find(({ id }) => replaced.has(id)) ?? cursor;
      const isMoreDue = changes.finalized.length >= WATCHED || replaced.size > 0;
      return { changes, count: included.length, isMoreDue };
    },
  };
}

/** A receipt that is unknown is looked up less and less often: it neither ends nor delays anything. */
function noteUnknown(
  { logger, options }: AnchoringContext,
  attempt: LiveAttempt,
  reason: string | null,
): void {
  attempt.unknownLookups = reason === null ? 0 : attempt.unknownLookups + 1;
  if (reason === null) return;
  if (attempt.unknownLookups === 1) {
    logger.warn({ attempt: attempt.id, reason }, 'node did not say whether there is a receipt');
  }
  const { pollMs, failedLookMs } = options.pauses;
  const waitMs = backoffMs(attempt.unknownLookups, { firstMs: pollMs, maxMs: failedLookMs });
  attempt.lookAt = performance.now() + waitMs;
}

function noteFailure(
  { logger, options }: AnchoringContext,
  attempt: LiveAttempt,
  { outcome, mined }: Extract<MinedAnchor, { mined: MinedTransaction }>,
): void {
  attempt.lookAt = performance.now() + options.pauses.failedLookMs;
  if (attempt.failed) return;
  attempt.failed = true;
  logger.error(
    { attempt: attempt.id, tx_hash: mined.txHash, outcome },
    'transaction mined without anchoring',
  );
}

async function include(context: AnchoringContext, attempt: LiveAttempt, mined: MinedTransaction) {
  const { store, lease, clock } = context;
  await context.onStep?.('inclusion_found');
  await store.recordInclusion(lease, attempt.id, mined, clock.now());
  attempt.state = 'included';
  await context.onStep?.('inclusion_recorded');
}

/**
 * A nonce below the sender's transaction count must have a receipt at that head. Without one, a transaction that is not
 * ours has used it.
 */
function hasNonceConflict(live: LiveAttempts, headNumber: bigint): boolean {
  if (live.counted === null || headNumber < live.counted.headNumber) return false;
  return hasUnexplainedNonce(live);
}

function isBelow(a: Place, b: Place): boolean {
  return a.blockNumber === b.blockNumber ? a.id <= b.id : a.blockNumber < b.blockNumber;
}

async function inclusionOf(
  { chain, identity, signal }: AnchoringContext,
  included: readonly WatchedAttempt[],
): Promise<InclusionChanges & { unknown: ReadonlySet<string> }> {
  if (included.length === 0) return { safe: [], finalized: [], reorged: [], unknown: new Set() };
  const { inclusions } = await chain.readInclusion({ identity, places: included }, signal);
  const known = (is: (one: WatchedAttempt) => boolean | undefined) =>
    new Set(included.filter(is).map(({ id }) => id));
  const isFinal = known((attempt) => attempt.isFinal);
  const isSafe = known((attempt) => attempt.isSafe || attempt.isFinal);
  const those = (is: (one: PlaceInclusion) => boolean) => inclusions.filter(is).map(({ id }) => id);
  return {
    safe: those(({ id, finality }) => finality === 'safe' && !isSafe.has(id)),
    finalized: those(({ id, finality }) => finality === 'finalized' && !isFinal.has(id)),
    reorged: those(({ standing }) => standing === 'replaced'),
    unknown: new Set(those(({ standing }) => standing === 'unknown')),
  };
}

/**
 * Sends mined transactions again, unchanged, after the chain has lost the nonces from `fromNonce` on. The lowest nonce
 * goes first, because some nodes accept no other before it. Returns the attempts that were mined there, at most as many
 * as may be in flight.
 */
async function resendAfterReorg(context: AnchoringContext, fromNonce: number) {
  const { store, chain, lease, signal, options } = context;
  const mined = await store.listMinedFrom(lease, fromNonce, options.maxInFlight);
  if (await store.isUsedElsewhere(lease, fromNonce)) await fillNonce(context, fromNonce);
  const [lowest, ...rest] = mined;
  if (lowest !== undefined) await chain.broadcast(lowest.rawTx, signal);
  await Promise.all(rest.map(({ rawTx }) => chain.broadcast(rawTx, signal)));
  return mined;
}

/**
 * Fills a nonce that a transaction from elsewhere had used with an empty transaction to the account itself: no later
 * nonce can be mined before it. It is no anchor, so it need not be durable: whichever transaction gets the nonce, no
 * proof is anchored twice.
 */
async function fillNonce(context: AnchoringContext, nonce: number): Promise<void> {
  const { key, chain, lease, options, logger, signal } = context;
  if (key === null) return;
  const senderState = await readSenderState(context, '0x');
  const { gas, hasCode, maxPriorityFeePerGas: tip } = senderState;
  // A transaction in the pool at this nonce comes back by itself, and may be an anchor that predates this database.
  const isFree = senderState.latestNonce === nonce && senderState.pendingNonce === nonce;
  if (gas.outcome !== 'estimated' || hasCode || !isFree) return;
  const fee = lesser(maxFeePerGas(senderState), options.maxFeePerGas);
  const { rawTx, txHash } = await key.signTransaction({
    chainId: lease.chainId,
    nonce,
    payload: '0x',
    gas: gasLimit(gas, { payloadBytes: 0, maxGas: options.maxGas }),
    maxFeePerGas: fee,
    maxPriorityFeePerGas: lesser(tip, fee),
  });
  const { outcome } = await chain.broadcast(rawTx, signal);
  logger.warn(
    { nonce, tx_hash: txHash, outcome },
    'foreign transaction was reorganized away; filled its nonce with an empty one',
  );
}
