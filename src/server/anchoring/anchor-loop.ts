import { backoffMs } from '../../base/backoff.ts';
import { SvcError } from '../../base/svc-error.ts';
import { ProviderError } from '../../chain/errors.ts';
import type { SenderState } from '../../chain/sender-state.ts';
import type { FeeQuote } from '../ports/anchoring.ts';
import { dearestSingle } from './batch.ts';
import {
  type BatchTiming,
  createBatchTiming,
  type QueueWatch,
  watchQueue,
} from './batch-timing.ts';
import { type Broadcasts, broadcastDueAt, createBroadcasts } from './broadcast.ts';
import { type AnchoringContext, type Degradation, type Hold, RETRY } from './context.ts';
import { bump, bumpDueAt, runBumpClock } from './fee-bump.ts';
import { createFinalityWatch, type FinalityWatch } from './finality.ts';
import { follow, isFollowed } from './inclusion.ts';
import { isLeaseLost } from './lease.ts';
import { type BumpClock, type LiveAttempts, recoverAttempts, unmined } from './open-attempts.ts';
import { createRefusals, type Refusals } from './preflight.ts';
import { createSettlements, type Settlements } from './settlement.ts';
import { decide, submit } from './sign.ts';
import { type ChainStatus, createChainStatus, degradationsOf, parkedCount } from './status.ts';
import type { Trigger } from './trigger.ts';

/** Where the engine stands. Instants are of `performance.now()`, which no change of the clock moves. */
interface AnchorLoop {
  readonly context: AnchoringContext;
  readonly queue: QueueWatch;
  readonly timing: BatchTiming;
  readonly status: ChainStatus;
  readonly broadcasts: Broadcasts;
  readonly settlements: Settlements;
  readonly finality: FinalityWatch;
  readonly refusals: Refusals;
  pollAt: number;
  senderStateAt: number;
  /** Until when proofs gather while a transaction is in flight; null when none wait. */
  batchUntil: number | null;
  /** The last batch was full: others wait already. */
  wasFull: boolean;
  /** Why nothing may be signed now. */
  hold: Hold | null;
  /** By the last survey all providers count fewer than were mined: their count. */
  behind: number | null;
  quote: FeeQuote | undefined;
}

/**
 * Works while the lease is held: follows what is open, then signs what is queued. Resolves with false when the
 * signal aborts, with true when there is no key and nothing left to follow; rejects with `lease_lost`. Any other
 * fault is survived: everything is read anew from store and chain, so nothing depends on what was in memory
 * when it happened.
 */
export async function runAnchorLoop(context: AnchoringContext, trigger: Trigger): Promise<boolean> {
  const { signal } = context;
  const tenure: AnchorLoop = {
    context,
    queue: watchQueue(context.store, signal, trigger.wake),
    timing: createBatchTiming(context.options.pauses),
    status: createChainStatus(),
    broadcasts: createBroadcasts(context, trigger.wake),
    settlements: createSettlements(context, trigger.wake),
    finality: createFinalityWatch(context, trigger.wake),
    refusals: createRefusals(),
    pollAt: 0,
    senderStateAt: 0,
    batchUntil: null,
    wasFull: false,
    hold: null,
    behind: null,
    quote: undefined,
  };
  try {
    return await work(tenure, trigger);
  } finally {
    const { broadcasts, settlements, finality } = tenure;
    await Promise.all([broadcasts.end(), settlements.pause(), finality.end()]);
  }
}

async function work(tenure: AnchorLoop, trigger: Trigger): Promise<boolean> {
  const { signal, key } = tenure.context;
  let live: LiveAttempts | null = null;
  let bumpClock: BumpClock | null = null;
  let failures = 0;
  while (!signal.aborted) {
    try {
      live ??= await connect(tenure, bumpClock);
      await turn(tenure, live, trigger.wake);
      failures = 0;
      if (key === null && live.attempts.length === 0 && tenure.finality.isIdle) return true;
      await trigger.wait(nextDueAt(tenure, live) - performance.now());
    } catch (error) {
      if (signal.aborted) return false;
      if (isLeaseLost(error)) throw error;
      if (live !== null) bumpClock = live.bumpClock;
      live = null;
      failures += 1;
      await reportLoopError(tenure, error, failures);
      await trigger.wait(backoffMs(failures, RETRY));
    }
  }
  return false;
}

async function connect(tenure: AnchorLoop, bumpClock: BumpClock | null): Promise<LiveAttempts> {
  const { store, chain, lease, identity, signal } = tenure.context;
  await store.bindChain(await chain.identity(signal, identity));
  tenure.pollAt = 0;
  tenure.senderStateAt = 0;
  tenure.queue.raise();
  return recoverAttempts(store, lease, bumpClock);
}

async function turn(tenure: AnchorLoop, live: LiveAttempts, wake: () => void): Promise<void> {
  const { context, timing, broadcasts, settlements, finality } = tenure;
  await recordFinality(tenure, live);
  // Before anything is broadcast: what is in a block already need not be, and the chain is to be ours.
  if (performance.now() >= tenure.pollAt || broadcasts.isDue(live)) await followSent(tenure, live);
  settlements.begin(live);
  broadcasts.begin(live);
  if (performance.now() >= tenure.senderStateAt) await readFees(tenure, live);
  runBumpClock(live);
  await bump(context, live);
  broadcasts.begin(live);
  await takeQueued(tenure, live, wake);
  finality.begin(live, timing.senderStateMs());
  await tenure.status.save(context, {
    degraded: degradationsOf(tenure, live),
    parked: parkedCount(live),
    quote: tenure.quote,
  });
}

async function followSent(tenure: AnchorLoop, live: LiveAttempts): Promise<void> {
  const { context, timing, broadcasts } = tenure;
  try {
    const head = await follow(context, live);
    if (head !== null) timing.note(head, performance.now());
    tenure.pollAt = performance.now() + timing.pollMs();
  } catch (error) {
    // A node that has no receipts to give may still take bytes.
    if (error instanceof ProviderError) broadcasts.begin(live);
    throw error;
  }
}

async function recordFinality(tenure: AnchorLoop, live: LiveAttempts): Promise<void> {
  // Nothing is settled of what is found to be in no block any more.
  if (tenure.finality.hasFound) await tenure.settlements.pause();
  if (!(await tenure.finality.record(live))) return;
  // A nonce that was in conflict is explained, and proofs wait again.
  live.nonceConflict = false;
  tenure.pollAt = 0;
  tenure.senderStateAt = 0;
  tenure.queue.raise();
}

async function readFees(tenure: AnchorLoop, live: LiveAttempts): Promise<void> {
  const { timing, refusals } = tenure;
  const { senderState, decision } = await decide(tenure.context, live, dearestSingle);
  const { latestNonce, headNumber, gas } = senderState;
  refusals.note(senderState);
  tenure.hold = decision.decision === 'wait' ? decision.reason : null;
  // A refusal that stands lets the queue be taken, to be refused as well or to prove it wrong.
  if (refusals.any && refusals.standing === null) tenure.hold ??= 'gas_refused';
  if (gas.outcome === 'estimated') {
    const { baseFeePerGas, maxPriorityFeePerGas, dataFeeWei } = senderState;
    tenure.quote = { singleGas: gas.gas, baseFeePerGas, maxPriorityFeePerGas, dataFeeWei };
  }
  live.counted = { latestNonce, headNumber };
  live.balance = senderState.balance;
  noteReorgedNonces(tenure, live, senderState);
  timing.note(headNumber, performance.now());
  const isSoon = tenure.hold === 'first_nonce';
  tenure.senderStateAt = performance.now() + (isSoon ? timing.pollMs() : timing.senderStateMs());
  // The hint of a store that several processes share may be missed.
  tenure.queue.raise();
}

/** A count below ours is believed where all providers say it, and twice in a row. */
function noteReorgedNonces(tenure: AnchorLoop, live: LiveAttempts, senderState: SenderState): void {
  const { latestNonce, lowestNonce } = senderState;
  const isBehind = tenure.hold === 'nonce_behind' && lowestNonce === latestNonce;
  const wasLost = live.reorgedFrom !== null;
  live.reorgedFrom = isBehind && tenure.behind !== null ? latestNonce : null;
  if (live.reorgedFrom !== null && !wasLost) {
    const nonce = live.reorgedFrom;
    tenure.context.logger.warn({ nonce }, 'the chain has lost what it had mined; it is sent again');
  }
  tenure.behind = isBehind ? latestNonce : null;
}

async function takeQueued(tenure: AnchorLoop, live: LiveAttempts, wake: () => void): Promise<void> {
  const { context, timing } = tenure;
  if (!maySign(tenure, live)) return;
  if (unmined(live).length > 0) {
    const { lingerMs, maxInFlight } = context.options;
    const slotMs = tenure.wasFull ? 0 : timing.slotMs(maxInFlight);
    tenure.batchUntil ??= performance.now() + Math.max(lingerMs, slotMs);
    if (performance.now() < tenure.batchUntil) return;
  }
  if (!context.queueLock.enter(wake)) return;
  tenure.batchUntil = null;
  try {
    await signQueued(tenure, live);
  } finally {
    context.queueLock.leave();
  }
}

async function signQueued(tenure: AnchorLoop, live: LiveAttempts): Promise<void> {
  const { context, queue } = tenure;
  const { store, lease, options } = context;
  queue.rearm();
  const queued = await store.listQueuedProofs(lease, options.batchMax);
  if (queued.length === 0) return;
  const submission = await submit(context, live, queued, tenure.refusals.standing);
  tenure.broadcasts.begin(live);
  if (submission.outcome === 'held') tenure.hold = submission.reason;
  // What cannot be refused, because it was signed before, stays at the head of the queue.
  else if (submission.outcome === 'refused') tenure.hold = 'gas_refused';
  else tenure.pollAt = Math.min(tenure.pollAt, performance.now() + tenure.timing.pollMs());
  tenure.wasFull = queued.length === options.batchMax;
  if (submission.outcome !== 'submitted' || tenure.wasFull) queue.raise();
}

function maySign({ context, queue, hold }: AnchorLoop, live: LiveAttempts): boolean {
  if (context.key === null) return false;
  const hasPlace = unmined(live).length < context.options.maxInFlight;
  return queue.mayHold && hold === null && !live.nonceConflict && hasPlace;
}

function nextDueAt(tenure: AnchorLoop, live: LiveAttempts): number {
  const { context, broadcasts, finality, pollAt } = tenure;
  const due = [tenure.senderStateAt, bumpDueAt(context, live) ?? tenure.senderStateAt];
  if (!finality.busy) due.push(finality.dueAt);
  // Broadcasts under way wake the engine when they end.
  if (!broadcasts.busy) due.push(...unmined(live).map((one) => broadcastDueAt(context, one)));
  due.push(...live.attempts.filter(isFollowed).map(({ lookAt }) => Math.max(pollAt, lookAt)));
  const { batchUntil } = tenure;
  const isBatching = batchUntil !== null && batchUntil > performance.now();
  // Whoever is inside wakes this engine on the way out.
  if (maySign(tenure, live) && (isBatching || !context.queueLock.isTaken)) {
    due.push(batchUntil ?? 0);
  }
  return Math.min(...due);
}

async function reportLoopError(
  tenure: AnchorLoop,
  error: unknown,
  failures: number,
): Promise<void> {
  const { logger } = tenure.context;
  // Once for each row of failures; how it ended is logged with the status.
  if (failures === 1) {
    if (error instanceof ProviderError) logger.warn({ reason: error.reason }, error.message);
    else logger.error({ err: error }, 'anchoring failed; trying again');
  }
  try {
    await tenure.status.save(tenure.context, { degraded: [degradationOf(error)] });
  } catch (err) {
    if (failures === 1) logger.error({ err }, 'the chain status could not be saved');
  }
}

function degradationOf(error: unknown): Degradation {
  if (error instanceof ProviderError) return 'chain_unreachable';
  const code = error instanceof SvcError ? error.code : null;
  if (code === 'chain_mismatch') return 'chain_mismatch';
  return code === 'unsupported_chain' ? 'chain_unsupported' : 'anchoring_failing';
}
