// Stores completions: queues a task's proof, and reserves its credits.

import type { Database } from 'better-sqlite3';
import type { CompletionStore, NewCompletion, QueueOutcome } from '../../ports/completions.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { decideCompletion } from '../../rules/completions.ts';
import { lacksCredit } from '../../rules/credits.ts';
import { proofBytes } from '../../rules/storage.ts';
import { balanceOf, newestSeq, postEntries } from '../account.ts';
import { refuseForCredit } from '../alerts.ts';
import { chainStatusSql } from '../anchoring/chain-status.ts';
import { firstAs, rows, type StepRunner, some } from '../engine/steps.ts';
import { eventSql } from '../events.ts';
import { toQuote } from '../rows/anchoring.ts';
import { newProofKey, sealProof } from '../rows/evidence.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { findTask, QUEUE_TOPIC } from '../tasks.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';

/** Evidence that counts in an account's usage. */
interface StoredProof {
  wallet: string;
  bytes: number;
}

export function completionStore(access: Access, usage: StorageUsage, { wake }: StepRunner) {
  const { writer, write } = access;
  const run = runOn(writer);
  const queue = queueInto(writer);

  function queueInWrite(completion: NewCompletion): QueueOutcome & Partial<StoredProof> {
    const { robotId, keyHash, taskId, now } = completion;
    const found = run(findTask(taskId));
    const record = found?.robotId === robotId ? found : null;
    const decision = decideCompletion({
      hasKey: run(some(eventSql.lockRobot, robotId, keyHash)),
      task: record && { status: record.status, state: record.completion?.state ?? null, record },
      balance: record && run(balanceOf(record.wallet)),
      quote: run(firstAs(toQuote, chainStatusSql.status)),
    });
    if (lacksCredit(decision)) run(refuseForCredit(taskId, decision.outcome, now));
    if (!('task' in decision)) return decision;
    const { outcome, task } = decision;
    if (outcome !== 'queued') return { outcome, task: task.record };
    const { wallet } = task.record;
    const bytes = queue(completion, wallet, decision.gasWei);
    run(rows(eventSql.seen, robotId, now));
    return { outcome, wallet, bytes };
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

/** Stores the proof in the account's next round of the queue, and reserves its credits. Returns its bytes. */
function queueInto(
  writer: Database,
): (completion: NewCompletion, wallet: string, reserved: bigint) => number {
  const newestCycle = writer.prepare<[string], { cycle: number }>(
    'SELECT cycle FROM completions WHERE task_id = ?',
  );
  const nextRound = writer.prepare<[string], { last_round: number }>(
    `UPDATE accounts SET last_round = max(last_round + 1, (SELECT round FROM queue_round WHERE id = 1))
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
  const run = runOn(writer);
  return ({ taskId, proof, proofHash, claimHash, leaf, now }, wallet, reserved) => {
    const cycle = (newestCycle.get(taskId)?.cycle ?? 0) + 1;
    const reservation = { wallet, anchors: -1, gasWei: -reserved, taskId, cycle, at: now };
    run(postEntries([{ kind: 'reserve', ...reservation }]));
    const reserveSeq = run(newestSeq(wallet));
    const round = nextRound.get(wallet)?.last_round ?? 0;
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
