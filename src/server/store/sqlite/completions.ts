// Stores completions: queues a task's proof, and reserves its credits.

import type { Database } from 'better-sqlite3';
import type { CompletionStore, NewCompletion, QueueOutcome } from '../../ports/completions.ts';
import type { TaskRecord } from '../../ports/tasks.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { lacksCredit } from '../../rules/credits.ts';
import { proofBytes } from '../../rules/storage.ts';
import { refuseForCredit } from '../alerts.ts';
import { rows, type StepRunner } from '../engine/steps.ts';
import { eventSql } from '../events.ts';
import { newProofKey, sealProof } from '../rows/evidence.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { decideFor, findTask, QUEUE_TOPIC, type SituationRow } from '../tasks.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/run-steps.ts';

export function completionStore(access: Access, usage: StorageUsage, { wake }: StepRunner) {
  const { writer, write } = access;
  const run = runOn(writer);
  const queue = queueInto(writer);

  /** `wallet` and `bytes`: stored evidence, which counts in the account's usage. */
  function queueInWrite(
    completion: NewCompletion,
  ): QueueOutcome & { wallet?: string; bytes?: number } {
    const { robotId, taskId, now } = completion;
    const { decision, wasRefused } = run(decideFor(completion));
    if (lacksCredit(decision) && !wasRefused) run(refuseForCredit(taskId, decision.outcome, now));
    if (!('task' in decision)) return decision;
    const { outcome, task } = decision;
    // The decision saw the task in this write, so it is there.
    if (outcome !== 'queued') return { outcome, task: run(findTask(taskId)) as TaskRecord };
    const bytes = queue(completion, task.row, decision.gasWei);
    run(rows(eventSql.seen, robotId, now));
    return { outcome, wallet: task.row.wallet, bytes };
  }

  return {
    async queueCompletion(completion) {
      const { wallet, bytes, ...result } = await write(() => queueInWrite(completion));
      if (wallet !== undefined && bytes !== undefined) usage.add(wallet, bytes);
      if (result.outcome === 'queued') wake([QUEUE_TOPIC]);
      return result;
    },
  } satisfies Partial<CompletionStore>;
}

/**
 * Stores the proof in the account's next round of the queue, and reserves its credits. Returns its bytes. Posts the
 * reservation without `postEntries`, because the balance is known and only one writer changes it.
 */
function queueInto(
  writer: Database,
): (completion: NewCompletion, found: SituationRow, gasWei: bigint) => number {
  const reserve = writer.prepare<[string, string, string, number, number]>(
    `INSERT INTO ledger (wallet, kind, anchors, gas_wei, task_id, cycle, at)
     VALUES (?, 'reserve', -1, ?, ?, ?, ?)`,
  );
  const pay = writer.prepare<[string, string], { last_round: number }>(
    `UPDATE accounts SET anchor_quota = anchor_quota - 1, gas_credit_wei = ?,
       last_round = max(last_round + 1, (SELECT round FROM queue_round WHERE id = 1))
     WHERE wallet = ? RETURNING last_round`,
  );
  const upsert = writer.prepare<[Record<string, string | number>]>(
    `INSERT INTO completions (task_id, state, proof_hash, claim_hash, leaf, cycle, generation,
       reserve_seq, round, queued_at, updated_at)
     VALUES (:taskId, 'queued', :proofHash, :claimHash, :leaf, :cycle, 0, :reserveSeq, :round, :now,
       :now)
     ON CONFLICT (task_id) DO UPDATE SET state = excluded.state, proof_hash = excluded.proof_hash,
       claim_hash = excluded.claim_hash, leaf = excluded.leaf, cycle = excluded.cycle,
       generation = 0, reserve_seq = excluded.reserve_seq, round = excluded.round,
       queued_at = excluded.queued_at,
       updated_at = excluded.updated_at, failure = NULL
     WHERE completions.state IN ${completionMove('try_again').from}`,
  );
  const keepProof = proofWriter(writer);
  return ({ taskId, proof, proofHash, claimHash, leaf, now }, found, gasWei) => {
    const cycle = (found.cycle ?? 0) + 1;
    const left = String(BigInt(found.gasCreditWei) - gasWei);
    const round = pay.get(left, found.wallet)?.last_round ?? 0;
    const entry = reserve.run(found.wallet, String(-gasWei), taskId, cycle, now);
    const reserveSeq = Number(entry.lastInsertRowid);
    upsert.run({ taskId, proofHash, claimHash, leaf, cycle, reserveSeq, round, now });
    return keepProof(taskId, proof, now);
  };
}

/** Encrypts the evidence of a task under a new key. It replaces earlier evidence. Returns its bytes. */
function proofWriter(writer: Database): (taskId: string, proof: string, now: number) => number {
  const erase = writer.prepare<[string]>('DELETE FROM proofs WHERE task_id = ?');
  const addKey = writer.prepare<[Buffer]>('INSERT INTO proof_keys (key) VALUES (?)');
  const insert = writer.prepare<[number | bigint, string, Buffer, number]>(
    'INSERT INTO proofs (key_id, task_id, sealed, stored_at) VALUES (?, ?, ?, ?)',
  );
  return (taskId, proof, now) => {
    erase.run(taskId);
    const key = newProofKey();
    const sealed = sealProof(proof, key);
    insert.run(addKey.run(key).lastInsertRowid, taskId, sealed, now);
    return proofBytes(sealed);
  };
}
