// Metrics of anchoring: waiting work, and the steps of a proof's way to the chain.

import type { Clock } from '../../base/clock.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Store } from '../ports/store.ts';
import { transactionCost } from '../rules/credits.ts';
import type { MetricFactory } from './factory.ts';

/** Reads what `/readyz` answers. */
export type ReadReasons = () => Promise<{ degraded: readonly string[] }>;

/**
 * Gauges of waiting work, read from the store when the metrics are read. If the store fails, they keep their last
 * values.
 */
export function createBacklogGauges(
  { gauge }: MetricFactory,
  clock: Clock,
  spendCapWei: bigint | null,
) {
  const queued = gauge('svc_anchor_queue_proofs', 'Queued proofs, not yet signed');
  const age = gauge(
    'svc_anchor_queue_age_seconds',
    'Age of the oldest queued proof in seconds; 0 if none',
  );
  const submitted = gauge(
    'svc_anchor_submitted_proofs',
    'Proofs in signed transactions, not yet settled',
  );
  const attempts = gauge(
    'svc_anchor_transactions',
    'Anchoring transactions that are not final, by state',
    ['state'],
  );
  const unminedAge = gauge(
    'svc_anchor_unmined_age_seconds',
    'Age of the oldest transaction that is in no block, in seconds; 0 if none',
  );
  const parked = gauge(
    'svc_anchor_parked',
    'Stuck transactions that wait for lower fees, funds or a key',
  );
  const unproven = gauge(
    'svc_chain_proofs_missing',
    'Final anchoring transactions without a stored chain proof, at most 100 000',
  );
  const spend = gauge(
    'svc_anchor_spend_reserved',
    'Highest cost of the anchors signed in the last hour, while a cap is set, in units of 1e18 wei',
  );
  gauge(
    'svc_anchor_spend_cap',
    'SVC_ANCHOR_MAX_SPEND_WEI_PER_HOUR in units of 1e18 wei; 0 without a cap',
  ).set(Number(spendCapWei ?? 0n) / 1e18);
  const degraded = gauge('svc_degraded', '1 for each reason that /readyz lists under degraded', [
    'reason',
  ]);
  return async (store: Store, readiness: ReadReasons): Promise<void> => {
    // Also while the store refuses writes, which readiness tries.
    const reasons = readiness().then(
      (ready) => ready.degraded,
      (error) => [error instanceof SvcError ? error.code : 'unknown'],
    );
    try {
      const [backlog, status, missing, reservedWei] = await Promise.all([
        store.readBacklog(),
        store.getChainStatus(),
        store.countMissingChainProofs(),
        store.readReservedSpend(clock.now()),
      ]);
      spend.set(Number(reservedWei) / 1e18);
      unproven.set(missing);
      queued.set(backlog.queued);
      submitted.set(backlog.submitted);
      const secondsSince = (at: number | null) =>
        at === null ? 0 : Math.max(0, clock.now() - at) / 1000;
      age.set(secondsSince(backlog.oldestQueuedAt));
      unminedAge.set(secondsSince(backlog.oldestUnminedAt));
      for (const [state, count] of Object.entries(backlog.attempts)) attempts.set({ state }, count);
      parked.set(status?.parked ?? 0);
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
    }
    const current = await reasons;
    degraded.reset();
    for (const reason of current) degraded.set({ reason }, 1);
  };
}

/** What follows a call of the store that succeeded: its result, and its arguments. */
export type AfterCall = {
  [Method in keyof Store]?: (
    result: Awaited<ReturnType<Store[Method]>>,
    ...input: Parameters<Store[Method]>
  ) => void;
};

/** Counts the steps of a proof's anchoring, each after it is durable. */
export function createAnchorMeters({ counter, gauge }: MetricFactory): AfterCall {
  const anchors = counter('svc_anchors_total', 'Proofs that entered a state since the start', [
    'state',
  ]);
  const transactions = counter(
    'svc_anchor_transactions_total',
    'Anchoring transactions that entered a state since the start',
    ['state'],
  );
  const replacements = counter(
    'svc_anchor_replacements_total',
    'Stuck anchoring transactions replaced at higher fees since the start',
  );
  const gas = counter(
    'svc_anchor_gas_total',
    'Gas used by included anchoring transactions since the start',
  );
  const fees = counter(
    'svc_anchor_fees_total',
    'Fees of included anchoring transactions since the start, in units of 1e18 wei',
    ['sender'],
  );
  const balance = gauge(
    'svc_anchor_balance',
    'Balance of an anchoring account that this instance anchors with, in units of 1e18 wei',
    ['sender'],
  );
  const proofBytes = counter(
    'svc_chain_proof_bytes_total',
    'Bytes of block headers and trie nodes stored as chain proofs since the start',
  );
  /** Number of unsettled leaves of the open attempts that this process has seen. */
  const unsettled = new Map<string, number>();
  return {
    queueCompletion({ outcome }) {
      if (outcome === 'queued') anchors.inc({ state: 'queued' });
    },
    listOpenAttempts(attempts) {
      for (const { id, unsettledLeaves } of attempts) unsettled.set(id, unsettledLeaves);
    },
    commitAttempt(_, _lease, { id, leaves }) {
      unsettled.set(id, leaves.length);
      anchors.inc({ state: 'submitted' }, leaves.length);
      transactions.inc({ state: 'signed' });
    },
    addVariant: () => replacements.inc(),
    recordInclusionChanges(_, _lease, { finalized, reorged }) {
      transactions.inc({ state: 'finalized' }, finalized.length);
      transactions.inc({ state: 'reorged' }, reorged.length);
    },
    recordReplacedNonce(_, _lease, attemptId) {
      unsettled.delete(attemptId);
      transactions.inc({ state: 'dead' });
    },
    recordInclusion(_, { sender }, _attemptId, mined) {
      transactions.inc({ state: 'included' });
      gas.inc(Number(mined.gasUsed));
      fees.inc({ sender }, Number(transactionCost(mined)) / 1e18);
    },
    settleLeaves(left, _lease, attemptId) {
      anchors.inc({ state: 'included' }, (unsettled.get(attemptId) ?? left) - left);
      if (left === 0) unsettled.delete(attemptId);
      else unsettled.set(attemptId, left);
    },
    recordChainProof(isRecorded, _anchor, { header, nodes }) {
      if (!isRecorded) return;
      const digits = [header, ...nodes].map(({ length }) => length - 2);
      proofBytes.inc(digits.reduce((sum, count) => sum + count, 0) / 2);
    },
    saveChainStatus(_, { sender }, { balance: wei }) {
      if (wei != null) balance.set({ sender }, Number(wei) / 1e18);
    },
    failQueuedProofs: (_, _lease, taskIds) => anchors.inc({ state: 'failed' }, taskIds.length),
  };
}
