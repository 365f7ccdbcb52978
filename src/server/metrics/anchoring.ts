// Metrics of anchoring: waiting work, and the steps of a proof's way to the chain.

import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Store } from '../ports/store.ts';

/**
 * Gauges of waiting work, read from the store when the metrics are read. If the store fails, they keep their last
 * values.
 */
export function createBacklogGauges(registry: Registry, clock: Clock, spendCapWei: bigint | null) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const queued = gauge('svc_anchor_queue_proofs', 'Queued proofs, not yet signed');
  const age = gauge(
    'svc_anchor_queue_age_seconds',
    'Age of the oldest queued proof in seconds; 0 if none',
  );
  const submitted = gauge(
    'svc_anchor_submitted_proofs',
    'Proofs in signed transactions, not yet settled',
  );
  const attempts = new Gauge({
    name: 'svc_anchor_transactions',
    help: 'Anchoring transactions that are not final, by state',
    labelNames: ['state'],
    registers: [registry],
  });
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
  const degraded = new Gauge({
    name: 'svc_degraded',
    help: '1 for each reason why anchoring is degraded, as in /readyz',
    labelNames: ['reason'],
    registers: [registry],
  });
  return async (store: Store): Promise<void> => {
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
      degraded.reset();
      for (const reason of status?.degraded ?? []) degraded.set({ reason }, 1);
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
    }
  };
}

/** Wraps a store to count the steps of a proof's anchoring, each after it is durable. */
export function createAnchorMeters(registry: Registry): (store: Store) => Store {
  const { anchors, transactions, replacements, gas, fees, balance, proofBytes } =
    createCounters(registry);
  /** Number of unsettled leaves of the open attempts that this process has seen. */
  const unsettled = new Map<string, number>();
  return (store) => ({
    ...store,
    async queueCompletion(completion) {
      const result = await store.queueCompletion(completion);
      if (result.outcome === 'queued') anchors.inc({ state: 'queued' });
      return result;
    },
    async listOpenAttempts(lease) {
      const attempts = await store.listOpenAttempts(lease);
      for (const { id, unsettledLeaves } of attempts) unsettled.set(id, unsettledLeaves);
      return attempts;
    },
    async commitAttempt(lease, attempt) {
      await store.commitAttempt(lease, attempt);
      unsettled.set(attempt.id, attempt.leaves.length);
      anchors.inc({ state: 'submitted' }, attempt.leaves.length);
      transactions.inc({ state: 'signed' });
    },
    async addVariant(lease, attemptId, variant, replaces, now) {
      await store.addVariant(lease, attemptId, variant, replaces, now);
      replacements.inc();
    },
    async recordInclusionChanges(lease, changes, now) {
      await store.recordInclusionChanges(lease, changes, now);
      transactions.inc({ state: 'finalized' }, changes.finalized.length);
      transactions.inc({ state: 'reorged' }, changes.reorged.length);
    },
    async recordReplacedNonce(lease, attemptId, now) {
      await store.recordReplacedNonce(lease, attemptId, now);
      unsettled.delete(attemptId);
      transactions.inc({ state: 'dead' });
    },
    async recordInclusion(lease, attemptId, mined, now) {
      await store.recordInclusion(lease, attemptId, mined, now);
      transactions.inc({ state: 'included' });
      gas.inc(Number(mined.gasUsed));
      const wei = mined.gasUsed * mined.effectiveGasPrice + mined.dataFeeWei;
      fees.inc({ sender: lease.sender }, Number(wei) / 1e18);
    },
    async settleLeaves(lease, attemptId, limit, now) {
      const left = await store.settleLeaves(lease, attemptId, limit, now);
      anchors.inc({ state: 'included' }, (unsettled.get(attemptId) ?? left) - left);
      if (left === 0) unsettled.delete(attemptId);
      else unsettled.set(attemptId, left);
      return left;
    },
    async recordChainProof(anchor, proof) {
      const isRecorded = await store.recordChainProof(anchor, proof);
      if (isRecorded) {
        const digits = [proof.header, ...proof.nodes].map(({ length }) => length - 2);
        proofBytes.inc(digits.reduce((sum, count) => sum + count, 0) / 2);
      }
      return isRecorded;
    },
    async saveChainStatus(lease, status) {
      await store.saveChainStatus(lease, status);
      if (status.balance == null) return;
      balance.set({ sender: lease.sender }, Number(status.balance) / 1e18);
    },
    async refuseQueuedProofs(lease, taskIds, reason, now) {
      await store.refuseQueuedProofs(lease, taskIds, reason, now);
      anchors.inc({ state: 'failed' }, taskIds.length);
    },
  });
}

function createCounters(registry: Registry) {
  const registers = [registry];
  return {
    anchors: new Counter({
      name: 'svc_anchors_total',
      help: 'Proofs that entered a state since the start',
      labelNames: ['state'],
      registers,
    }),
    transactions: new Counter({
      name: 'svc_anchor_transactions_total',
      help: 'Anchoring transactions that entered a state since the start',
      labelNames: ['state'],
      registers,
    }),
    replacements: new Counter({
      name: 'svc_anchor_replacements_total',
      help: 'Stuck anchoring transactions replaced at higher fees since the start',
      registers,
    }),
    gas: new Counter({
      name: 'svc_anchor_gas_total',
      help: 'Gas used by included anchoring transactions since the start',
      registers,
    }),
    fees: new Counter({
      name: 'svc_anchor_fees_total',
      help: 'Fees of included anchoring transactions since the start, in units of 1e18 wei',
      labelNames: ['sender'],
      registers,
    }),
    balance: new Gauge({
      name: 'svc_anchor_balance',
      help: 'Balance of an anchoring account that this instance anchors with, in units of 1e18 wei',
      labelNames: ['sender'],
      registers,
    }),
    proofBytes: new Counter({
      name: 'svc_chain_proof_bytes_total',
      help: 'Bytes of block headers and trie nodes stored as chain proofs since the start',
      registers,
    }),
  };
}
