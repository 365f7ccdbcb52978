// The anchor loop: one round of all stages, from the queue to finality, while the lease is held.
import { backoffMs } from '../../base/async/backoff.ts';
import type { Trigger } from '../../base/async/triggers.ts';
import { SvcError } from '../../base/svc-error.ts';
import { ProviderError } from '../../chain/errors.ts';
import type { IdleReading, SenderState } from '../../chain/sender-state.ts';
import type { FeeQuote } from '../ports/anchoring.ts';
import {
  type BatchTiming,
  createBatchTiming,
  dearestSingle,
  type QueueWatch,
  watchQueue,
} from './batch.ts';
import { Broadcasts, broadcastDueAt } from './broadcast.ts';
import {
  type AnchoringContext,
  type Degradation,
  type Hold,
  isLeaseLost,
  RETRY,
} from './context.ts';
import { bump, bumpDueAt, runBumpClock } from './fee-bump.ts';
import { FinalityWatch } from './finality.ts';
import { follow } from './inclusion.ts';
import {
  type BumpClock,
  hasUnexplainedNonce,
  isInBlock,
  type LiveAttempts,
  recoverAttempts,
  unmined,
} from './open-attempts.ts';
import { listAccount, Refusals } from './preflight.ts';
import { Settlements } from './settlement.ts';
import { decide, submit } from './sign.ts';
import { ChainStatus, degradationsOf, FeeHistory, parkedCount } from './status.ts';

/** State of an anchor loop. Instants are `performance.now()`, which changes of the system clock do not move. */
class AnchorLoop {
  readonly context: AnchoringContext;
  readonly queue: QueueWatch;
  readonly timing: BatchTiming;
  readonly status = new ChainStatus();
  readonly broadcasts: Broadcasts;
  readonly settlements: Settlements;
  readonly finality: FinalityWatch;
  readonly refusals = new Refusals();
  readonly fees = new FeeHistory();
  pollAt = 0;
  /** When the sender state was last read, and the state. */
  readAt = Number.NEGATIVE_INFINITY;
  senderState: SenderState | null = null;
  idlePart: IdleReading['part'] = 'account';
  /** When the queue is looked at next: the notification of a store shared by several processes may be missed. */
  queueAt = 0;
  /** The last round ended idle. */
  wasIdle = false;
  /** End of the batching window while a transaction is pending; null when no proofs wait. */
  batchUntil: number | null = null;
  /** The last batch was full: more proofs are waiting. */
  wasFull = false;
  /** The last batch needed several commits. */
  isLoaded = false;
  /** The last batch was not signed: one of its leaves was gone. */
  lostLeaf = false;
  /** Why signing is paused; null when it is not. */
  hold: Hold | null = null;
  /**
   * Set if, at the last reading of the sender state, most providers reported a lower transaction count than we saw
   * mined: that count.
   */
  behind: number | null = null;
  quote: FeeQuote | undefined;
  /** The account is in the list of anchoring accounts. */
  isListed = false;

  constructor(context: AnchoringContext, wake: () => void) {
    this.context = context;
    this.queue = watchQueue(context.store, context.signal, wake);
    this.timing = createBatchTiming(context.options.pauses);
    this.broadcasts = new Broadcasts(context, wake);
    this.settlements = new Settlements(context, wake);
    this.finality = new FinalityWatch(context, wake);
  }
}

/**
 * Follows open attempts and signs queued proofs while the lease is held. Resolves with false when the signal aborts,
 * and with true when there is no key and nothing left to follow. Rejects with `lease_lost`. Any other error is handled
 * by reading everything again from store and chain, so nothing depends on what was in memory when it happened.
 */
export async function runAnchorLoop(context: AnchoringContext, trigger: Trigger): Promise<boolean> {
  const loop = new AnchorLoop(context, trigger.wake);
  try {
    return await work(loop, trigger);
  } finally {
    const { broadcasts, settlements, finality } = loop;
    await Promise.all([broadcasts.end(), settlements.pause(), finality.end()]);
  }
}

async function work(loop: AnchorLoop, trigger: Trigger): Promise<boolean> {
  const { signal, key } = loop.context;
  let live: LiveAttempts | null = null;
  let bumpClock: BumpClock | null = null;
  let failures = 0;
  while (!signal.aborted) {
    try {
      live ??= await connect(loop, bumpClock);
      await runRound(loop, live, trigger.wake);
      failures = 0;
      if (key === null && live.attempts.length === 0 && loop.finality.isIdle) return true;
      await trigger.wait(nextDueAt(loop, live) - performance.now());
    } catch (error) {
      if (signal.aborted) return false;
      if (isLeaseLost(error)) throw error;
      if (live !== null) bumpClock = live.bumpClock;
      live = null;
      failures += 1;
      await reportLoopError(loop, error, failures);
      await trigger.wait(backoffMs(failures, RETRY));
    }
  }
  return false;
}

async function connect(loop: AnchorLoop, bumpClock: BumpClock | null): Promise<LiveAttempts> {
  const { store, chain, lease, identity, signal } = loop.context;
  await store.bindChain(await chain.identity(signal, identity));
  loop.pollAt = 0;
  loop.readAt = Number.NEGATIVE_INFINITY;
  loop.senderState = null;
  loop.queueAt = 0;
  loop.queue.raise();
  return recoverAttempts(store, lease, bumpClock);
}

async function runRound(loop: AnchorLoop, live: LiveAttempts, wake: () => void): Promise<void> {
  const { context, timing, broadcasts, settlements, finality } = loop;
  await recordFinality(loop, live);
  // Look for receipts before broadcasting: what is already in a block need not be sent, and the call checks the chain's
  // identity.
  if (performance.now() >= loop.pollAt || broadcasts.isDue(live)) await followSent(loop, live);
  settlements.begin(live);
  broadcasts.begin(live);
  await lookAtQueue(loop);
  // The first proof after idleness does not wait for this reading: signing reads the chain anyway.
  const isAwoken = loop.wasIdle && maySign(loop, live);
  if (!isAwoken && performance.now() >= senderStateDueAt(loop, live)) await readFees(loop, live);
  runBumpClock(live);
  await bump(context, live);
  broadcasts.begin(live);
  await takeQueued(loop, live, wake);
  finality.begin(live, timing.senderStateMs());
  loop.wasIdle = isIdle(loop, live);
  await loop.status.save(context, {
    degraded: degradationsOf(loop, live),
    parked: parkedCount(live),
    quote: loop.quote,
    balance: live.balance,
    neededWei: live.neededWei,
  });
  context.onChecked();
}

async function followSent(loop: AnchorLoop, live: LiveAttempts): Promise<void> {
  const { context, timing, broadcasts } = loop;
  try {
    const head = await follow(context, live);
    if (head !== null) timing.note(head, performance.now());
    loop.pollAt = performance.now() + timing.pollMs();
  } catch (error) {
    // A node that cannot serve receipts may still accept transactions.
    if (error instanceof ProviderError) broadcasts.begin(live);
    throw error;
  }
}

async function recordFinality(loop: AnchorLoop, live: LiveAttempts): Promise<void> {
  // Settle nothing of an attempt that was just found to be in no block any more.
  if (loop.finality.hasFound) await loop.settlements.pause();
  if (!(await loop.finality.record(live))) return;
  // A nonce conflict is explained now, and proofs are queued again.
  live.nonceConflict = false;
  loop.pollAt = 0;
  loop.readAt = Number.NEGATIVE_INFINITY;
  loop.queueAt = 0;
  loop.queue.raise();
}

async function readFees(loop: AnchorLoop, live: LiveAttempts): Promise<void> {
  const { timing, refusals, context } = loop;
  const before = loop.hold === null && isIdle(loop, live) ? loop.senderState : null;
  loop.idlePart = loop.idlePart === 'fees' ? 'account' : 'fees';
  const idle = before && { before, part: loop.idlePart };
  // A whole reading is as many calls as two of its parts.
  const pauses = before === null ? 2 : 1;
  context.idle.freeAt = performance.now() + pauses * context.options.pauses.idleMs;
  const { senderState, decision } = await decide(context, live, dearestSingle, idle);
  loop.senderState = senderState;
  const { latestNonce, headNumber, gas } = senderState;
  // Before the first signature: the first block is not after the account's first anchor.
  loop.isListed ||= await listAccount(loop.context, headNumber);
  refusals.note(senderState);
  loop.hold = decision.decision === 'wait' ? decision.reason : null;
  // Once a refusal is confirmed the queue is read: its proofs are either refused too, or disprove the refusal.
  if (refusals.any && refusals.confirmed === null) loop.hold ??= 'gas_refused';
  if (gas.outcome === 'estimated') {
    const { baseFeePerGas, maxPriorityFeePerGas, dataFeeWei } = senderState;
    loop.fees.note(baseFeePerGas + maxPriorityFeePerGas, performance.now());
    loop.quote = { singleGas: gas.gas, baseFeePerGas, maxPriorityFeePerGas, dataFeeWei };
  }
  live.counted = { latestNonce, headNumber };
  // Nothing is signed before the receipt of a used nonce is looked up.
  if (hasUnexplainedNonce(live)) loop.pollAt = 0;
  live.balance = senderState.balance;
  noteReorgedNonces(loop, live, senderState);
  timing.note(headNumber, performance.now());
  loop.readAt = performance.now();
}

/** Whether nothing is queued, open or awaiting finality. */
function isIdle({ queue, finality }: AnchorLoop, live: LiveAttempts): boolean {
  return !queue.mayHold && live.attempts.length === 0 && finality.isAllFinal;
}

function senderStateDueAt(loop: AnchorLoop, live: LiveAttempts): number {
  const { timing, hold, readAt, context } = loop;
  // `/readyz` waits for the first reading of each account.
  if (loop.senderState === null) return readAt;
  const isFirst = hold === 'first_nonce';
  if (isFirst || !isIdle(loop, live)) {
    return readAt + (isFirst && loop.queue.mayHold ? timing.pollMs() : timing.senderStateMs());
  }
  const { accounts, freeAt } = context.idle;
  return Math.max(readAt + accounts * context.options.pauses.idleMs, freeAt);
}

async function lookAtQueue(loop: AnchorLoop): Promise<void> {
  const { context, queue, timing } = loop;
  if (performance.now() < loop.queueAt) return;
  loop.queueAt = performance.now() + timing.senderStateMs();
  queue.rearm();
  const { store, lease, options, clock } = context;
  // Of an attempt that was not committed before a crash, or has died.
  while (await store.returnLeaves(lease, options.leavesPerCommit, clock.now())) {
    await context.onStep?.('leaves_returned');
  }
  if ((await store.listQueuedProofs(lease, 1)).length > 0) queue.raise();
}

/** A count below ours is believed only if two of three providers report it, or both of two, twice in a row. */
function noteReorgedNonces(loop: AnchorLoop, live: LiveAttempts, senderState: SenderState): void {
  const { latestNonce, lowestNonce } = senderState;
  const isBehind = loop.hold === 'nonce_behind' && lowestNonce === latestNonce;
  const wasLost = live.reorgedFrom !== null;
  live.reorgedFrom = isBehind && loop.behind !== null ? latestNonce : null;
  if (live.reorgedFrom !== null && !wasLost) {
    const nonce = live.reorgedFrom;
    loop.context.logger.warn({ nonce }, 'chain lost mined transactions; resending them');
  }
  loop.behind = isBehind ? latestNonce : null;
}

async function takeQueued(loop: AnchorLoop, live: LiveAttempts, wake: () => void): Promise<void> {
  const { context, timing } = loop;
  if (!maySign(loop, live)) return;
  if (unmined(live).length > 0) {
    const { lingerMs, maxInFlight } = context.options;
    const slotMs = loop.wasFull ? 0 : timing.slotMs(maxInFlight, loop.isLoaded);
    loop.batchUntil ??= performance.now() + Math.max(lingerMs, slotMs);
    if (performance.now() < loop.batchUntil) return;
  }
  if (!context.queueLock.enter(wake)) return;
  loop.batchUntil = null;
  try {
    await signQueued(loop, live);
  } finally {
    context.queueLock.leave();
  }
}

async function signQueued(loop: AnchorLoop, live: LiveAttempts): Promise<void> {
  const { context, queue } = loop;
  const { store, lease, options } = context;
  queue.rearm();
  const queued = await store.listQueuedProofs(lease, options.batchMax);
  if (queued.length === 0) return;
  const { confirmed } = loop.refusals;
  const submission = await submit(context, live, queued, confirmed, !loop.lostLeaf);
  loop.lostLeaf = submission.outcome === 'not_queued';
  loop.broadcasts.begin(live);
  if (submission.outcome === 'held') loop.hold = submission.reason;
  // Proofs that cannot be refused, because they were signed before, stay at the head of the queue.
  else if (submission.outcome === 'refused') loop.hold = 'gas_refused';
  else loop.pollAt = Math.min(loop.pollAt, performance.now() + loop.timing.pollMs());
  loop.isLoaded = queued.length > options.leavesPerCommit;
  loop.wasFull = queued.length === options.batchMax;
  if (submission.outcome === 'submitted') {
    if (loop.wasFull) queue.raise();
    return;
  }
  // Leaves that were assigned go back first.
  loop.queueAt = 0;
  queue.raise();
}

function maySign({ context, queue, hold }: AnchorLoop, live: LiveAttempts): boolean {
  if (context.key === null) return false;
  const hasPlace = unmined(live).length < context.options.maxInFlight;
  const isExplained = !live.nonceConflict && !hasUnexplainedNonce(live);
  return queue.mayHold && hold === null && isExplained && hasPlace;
}

function nextDueAt(loop: AnchorLoop, live: LiveAttempts): number {
  const { context, broadcasts, finality, pollAt } = loop;
  const readAt = senderStateDueAt(loop, live);
  const due = [readAt, loop.queueAt, bumpDueAt(context, live) ?? readAt];
  if (!finality.isBusy) due.push(finality.dueAt);
  // Broadcasts in progress wake the loop when they end.
  if (!broadcasts.isBusy) due.push(...unmined(live).map((one) => broadcastDueAt(context, one)));
  const followed = live.attempts.filter((one) => !isInBlock(one));
  due.push(...followed.map(({ lookAt }) => Math.max(pollAt, lookAt)));
  const { batchUntil } = loop;
  const isBatching = batchUntil !== null && batchUntil > performance.now();
  // The holder of the queue lock wakes this loop when it leaves.
  if (maySign(loop, live) && (isBatching || !context.queueLock.isTaken)) {
    due.push(batchUntil ?? 0);
  }
  return Math.min(...due);
}

async function reportLoopError(loop: AnchorLoop, error: unknown, failures: number): Promise<void> {
  const { logger } = loop.context;
  // Log once per series of failures. The status logs the recovery.
  if (failures === 1) {
    if (error instanceof ProviderError)
      logger.warn({ reason: error.reason }, 'failed to read chain');
    else logger.error({ err: error }, 'anchoring failed; retrying');
  }
  try {
    await loop.status.save(loop.context, { degraded: [degradationOf(error)] });
    loop.context.onChecked();
  } catch (err) {
    if (failures === 1) logger.error({ err }, 'failed to save chain status');
  }
}

function degradationOf(error: unknown): Degradation {
  if (error instanceof ProviderError) return 'chain_unreachable';
  const code = error instanceof SvcError ? error.code : null;
  if (code === 'chain_mismatch') return 'chain_mismatch';
  return code === 'unsupported_chain' ? 'chain_unsupported' : 'anchoring_failing';
}
