// Stores completions: queues a task's proof, and reserves its credits.

import type { CompletionStore, NewCompletion, QueueOutcome } from '../../ports/completions.ts';
import type { TaskRecord } from '../../ports/tasks.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { lacksCredit } from '../../rules/credits.ts';
import { proofBytes } from '../../rules/storage.ts';
import { refuseForCredit } from '../alerts.ts';
import { QUEUE_TOPIC } from '../anchoring/waits.ts';
import type { Db, Tx } from '../db/database.ts';
import { raw, sql } from '../db/sql.ts';
import { newProofKey, sealProof } from '../evidence.ts';
import { markSeen } from '../robots.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { decideFor, findTask, type SituationRow } from '../tasks.ts';

const again = completionMove('try_again');

export function completionStore({ write, wake }: Db, usage: StorageUsage) {
  return {
    async queueCompletion(completion) {
      const { wallet, bytes, ...result } = await write((tx) => decideAndQueue(tx, completion));
      if (wallet !== undefined && bytes !== undefined) usage.add(wallet, bytes);
      if (result.outcome === 'queued') wake([QUEUE_TOPIC]);
      return result;
    },
  } satisfies Partial<CompletionStore>;
}

/** `wallet` and `bytes`: if evidence was stored, the account and what to add to its usage. */
type Queued = QueueOutcome & { wallet?: string; bytes?: number };

async function decideAndQueue(tx: Tx, completion: NewCompletion): Promise<Queued> {
  const { robotId, taskId, now } = completion;
  const { decision, wasRefused } = await decideFor(tx, completion);
  if (lacksCredit(decision) && !wasRefused) {
    await refuseForCredit(tx, taskId, decision.outcome, now);
  }
  if (!('task' in decision)) return decision;
  const { outcome, task } = decision;
  // The decision saw the task in this write, so it is there.
  if (outcome !== 'queued') return { outcome, task: (await findTask(tx, taskId)) as TaskRecord };
  await reserveAndQueue(tx, completion, task.row, decision.gasWei);
  const bytes = await keepProof(tx, completion);
  await markSeen(tx, robotId, now);
  return { outcome, wallet: task.row.wallet, bytes };
}

/**
 * Puts the proof into the queue, and reserves its credits for this cycle: each completion of a task after a failed one is
 * a cycle. A round of the queue has one completion of each account at most, so that accounts take turns. Posts the
 * reservation without `postEntries`, because the balance is known and only one writer changes it.
 */
async function reserveAndQueue(
  tx: Tx,
  { taskId, proofHash, claimHash, leaf, statementHash, outcome, now }: NewCompletion,
  { wallet, gasCreditWei, cycle: lastCycle }: SituationRow,
  gasWei: bigint,
): Promise<void> {
  const cycle = (lastCycle ?? 0) + 1;
  const paid = await tx.one<{ last_round: number }>(sql`UPDATE accounts
    SET anchor_quota = anchor_quota - 1, gas_credit_wei = ${String(BigInt(gasCreditWei) - gasWei)},
      last_round = max(last_round + 1, (SELECT round FROM queue_round WHERE id = 1))
    WHERE wallet = ${wallet} RETURNING last_round`);
  const entry = await tx.one<{ seq: number }>(sql`INSERT INTO ledger
      (wallet, kind, anchors, gas_wei, task_id, cycle, at)
    VALUES (${wallet}, 'reserve', -1, ${String(-gasWei)}, ${taskId}, ${cycle}, ${now})
    RETURNING seq`);
  await tx.run(sql`INSERT INTO completions (task_id, state, proof_hash, claim_hash, leaf, cycle,
      generation, reserve_seq, round, queued_at, updated_at, statement_hash, outcome)
    VALUES (${taskId}, ${raw(again.to)}, ${proofHash}, ${claimHash}, ${leaf}, ${cycle}, 0,
      ${entry.seq}, ${paid.last_round}, ${now}, ${now}, ${statementHash}, ${outcome})
    ON CONFLICT (task_id) DO UPDATE SET state = excluded.state, proof_hash = excluded.proof_hash,
      claim_hash = excluded.claim_hash, leaf = excluded.leaf, cycle = excluded.cycle,
      generation = 0, reserve_seq = excluded.reserve_seq, round = excluded.round,
      queued_at = excluded.queued_at, updated_at = excluded.updated_at, failure = NULL,
      statement_hash = excluded.statement_hash, outcome = excluded.outcome
    WHERE completions.state IN ${raw(again.from)}`);
}

/** Encrypts the evidence of a task under a new key. It replaces earlier evidence. Returns its bytes. */
async function keepProof(tx: Tx, { taskId, proof, now }: NewCompletion): Promise<number> {
  await tx.run(sql`DELETE FROM proofs WHERE task_id = ${taskId}`);
  const key = newProofKey();
  const sealed = sealProof(proof, key);
  const kept = await tx.one<{ id: number }>(
    sql`INSERT INTO proof_keys (key) VALUES (${key}) RETURNING id`,
  );
  await tx.run(sql`INSERT INTO proofs (key_id, task_id, sealed, stored_at)
    VALUES (${kept.id}, ${taskId}, ${sealed}, ${now})`);
  return proofBytes(sealed);
}
