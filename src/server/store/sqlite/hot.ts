// Claims, completions and samples: what SQLite stores most often. PostgreSQL does each in few round trips.

import type { CompletionStore, NewCompletion, QueueOutcome } from '../../ports/completions.ts';
import type { NewTask, TaskRecord, TaskStore } from '../../ports/tasks.ts';
import type { NewSamples, SampleRecord, TelemetryStore } from '../../ports/telemetry.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { lacksCredit } from '../../rules/credits.ts';
import { proofBytes, rowBytes, samplesBytes } from '../../rules/storage.ts';
import { refuseForCredit } from '../alerts.ts';
import type { Db } from '../db/database.ts';
import { raw, sql } from '../db/sql.ts';
import type { Tx } from '../db/tx.ts';
import { newProofKey, sealProof } from '../evidence.ts';
import { lockRobot, markSeen } from '../robots.ts';
import { countSamples } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { claimedTask, decideFor, findTask, isSameClaim, type SituationRow } from '../tasks.ts';
import { noNames, rollUpNames, type StoredNames } from '../telemetry/aggregate.ts';
import { SHOWN_COLUMNS, type ShownRow, shownAfter } from '../telemetry/readings.ts';
import {
  addToAggregates,
  byInterval,
  newNames,
  type StoredAggregate,
} from '../telemetry/roll-ups.ts';
import { isSameSample, SAMPLE_COLUMNS } from '../telemetry.ts';
import { QUEUE_TOPIC } from '../topics.ts';

export function hotStore({ write, wake }: Db, usage: StorageUsage) {
  return {
    async createTask(task) {
      const result = await write((tx) => claim(tx, task));
      if (result.outcome === 'created') {
        const { wallet, title, description, expectedResult } = result.task;
        usage.add(wallet, rowBytes(title, description, expectedResult));
      }
      return result;
    },

    async queueCompletion(completion) {
      const { wallet, bytes, ...result } = await write((tx) => complete(tx, completion));
      if (wallet !== undefined && bytes !== undefined) usage.add(wallet, bytes);
      if (result.outcome === 'queued') wake([QUEUE_TOPIC]);
      return result;
    },

    async recordSamples(samples) {
      try {
        const result = await write((tx) => record(tx, samples));
        if (result.outcome === 'recorded') usage.add(result.wallet, result.bytes);
        return { outcome: result.outcome };
      } catch (error) {
        if (error instanceof SampleConflict) return { outcome: 'id_conflict', index: error.index };
        throw error;
      }
    },
  } satisfies Partial<TaskStore & CompletionStore & TelemetryStore>;
}

async function claim(tx: Tx, task: NewTask): ReturnType<TaskStore['createTask']> {
  const { id, robotId, keyHash, createdAt } = task;
  // Inserts nothing if the key was revoked or the id is taken; only then do further statements find out which.
  const inserted = await tx.get<{ wallet: string }>(sql`INSERT INTO tasks
      (id, robot_id, wallet, title, description, expected_result, occurred_at, created_at)
    SELECT ${id}, id, wallet, ${task.title}, ${task.description}, ${task.expectedResult},
      ${task.occurredAt}, ${createdAt}
    FROM robots WHERE id = ${robotId} AND key_hash = ${keyHash}
      AND NOT EXISTS (SELECT 1 FROM tombstones WHERE task_id = ${id})
    ON CONFLICT (id) DO NOTHING RETURNING wallet`);
  if (inserted !== undefined) {
    await markSeen(tx, robotId, createdAt);
    return { outcome: 'created', task: claimedTask(task, inserted.wallet) };
  }
  if ((await lockRobot(tx, robotId, keyHash)) === undefined) return { outcome: 'key_revoked' };
  const stored = await findTask(tx, id);
  if (stored === null || !task.idGiven || !isSameClaim(stored, task)) {
    return { outcome: 'id_conflict' };
  }
  await markSeen(tx, robotId, createdAt);
  return { outcome: 'repeated', task: stored };
}

/** `wallet` and `bytes`: stored evidence, which counts in the account's usage. */
type Queued = QueueOutcome & { wallet?: string; bytes?: number };

async function complete(tx: Tx, completion: NewCompletion): Promise<Queued> {
  const { robotId, taskId, now } = completion;
  const { decision, wasRefused } = await decideFor(tx, completion);
  if (lacksCredit(decision) && !wasRefused) {
    await refuseForCredit(tx, taskId, decision.outcome, now);
  }
  if (!('task' in decision)) return decision;
  const { outcome, task } = decision;
  // The decision saw the task in this write, so it is there.
  if (outcome !== 'queued') return { outcome, task: (await findTask(tx, taskId)) as TaskRecord };
  await queue(tx, completion, task.row, decision.gasWei);
  const bytes = await keepProof(tx, completion);
  await markSeen(tx, robotId, now);
  return { outcome, wallet: task.row.wallet, bytes };
}

/**
 * Puts the proof in the account's next round of the queue, and reserves its credits. Posts the reservation without
 * `postEntries`, because the balance is known and only one writer changes it.
 */
async function queue(
  tx: Tx,
  { taskId, proofHash, claimHash, leaf, now }: NewCompletion,
  { wallet, gasCreditWei, cycle: lastCycle }: SituationRow,
  gasWei: bigint,
): Promise<void> {
  const cycle = (lastCycle ?? 0) + 1;
  const paid = await tx.get<{ last_round: number }>(sql`UPDATE accounts
    SET anchor_quota = anchor_quota - 1, gas_credit_wei = ${String(BigInt(gasCreditWei) - gasWei)},
      last_round = max(last_round + 1, (SELECT round FROM queue_round WHERE id = 1))
    WHERE wallet = ${wallet} RETURNING last_round`);
  const entry = await tx.get<{ seq: number }>(sql`INSERT INTO ledger
      (wallet, kind, anchors, gas_wei, task_id, cycle, at)
    VALUES (${wallet}, 'reserve', -1, ${String(-gasWei)}, ${taskId}, ${cycle}, ${now})
    RETURNING seq`);
  await tx.run(sql`INSERT INTO completions (task_id, state, proof_hash, claim_hash, leaf, cycle,
      generation, reserve_seq, round, queued_at, updated_at)
    VALUES (${taskId}, 'queued', ${proofHash}, ${claimHash}, ${leaf}, ${cycle}, 0,
      ${entry?.seq ?? null}, ${paid?.last_round ?? 0}, ${now}, ${now})
    ON CONFLICT (task_id) DO UPDATE SET state = excluded.state, proof_hash = excluded.proof_hash,
      claim_hash = excluded.claim_hash, leaf = excluded.leaf, cycle = excluded.cycle,
      generation = 0, reserve_seq = excluded.reserve_seq, round = excluded.round,
      queued_at = excluded.queued_at, updated_at = excluded.updated_at, failure = NULL
    WHERE completions.state IN ${raw(completionMove('try_again').from)}`);
}

/** Encrypts the evidence of a task under a new key. It replaces earlier evidence. Returns its bytes. */
async function keepProof(tx: Tx, { taskId, proof, now }: NewCompletion): Promise<number> {
  await tx.run(sql`DELETE FROM proofs WHERE task_id = ${taskId}`);
  const key = newProofKey();
  const sealed = sealProof(proof, key);
  const kept = await tx.get<{ id: number }>(
    sql`INSERT INTO proof_keys (key) VALUES (${key}) RETURNING id`,
  );
  await tx.run(sql`INSERT INTO proofs (key_id, task_id, sealed, stored_at)
    VALUES (${kept?.id ?? null}, ${taskId}, ${sealed}, ${now})`);
  return proofBytes(sealed);
}

/** Thrown inside a write, so that its savepoint undoes the samples before it. */
class SampleConflict extends Error {
  readonly index: number;

  constructor(index: number) {
    super('The sample is stored with other content');
    this.index = index;
  }
}

/** Stores samples with everything derived from them. */
async function record(tx: Tx, { robotId, keyHash, samples, now }: NewSamples) {
  const robot = await lockRobot(tx, robotId, keyHash);
  if (robot === undefined) return { outcome: 'key_revoked' as const };
  const inserted: SampleRecord[] = [];
  for (const [index, sample] of samples.entries()) {
    if (await insertSample(tx, robotId, sample, index)) inserted.push(sample);
  }
  // This parses the readings. Not before the write: otherwise all waiting requests would hold theirs in memory.
  for (const [day, ofDay] of byInterval('day', inserted)) await addToDay(tx, robotId, day, ofDay);
  await markSeen(tx, robotId, now);
  await showNewest(tx, robotId, inserted, now);
  await countSamples(tx, [{ ...robot, samples: inserted }]);
  return { outcome: 'recorded' as const, wallet: robot.wallet, bytes: samplesBytes(inserted) };
}

/** Returns true if the sample is new. @throws SampleConflict if it is stored with other content. */
async function insertSample(tx: Tx, robotId: string, sample: SampleRecord, index: number) {
  const { recordedAt, id, batteryPct, state, metrics } = sample;
  const inserted = await tx.run(sql`INSERT INTO telemetry
      (robot_id, recorded_at, id, battery_pct, state, metrics)
    VALUES (${robotId}, ${recordedAt}, ${id}, ${batteryPct}, ${state}, ${metrics})
    ON CONFLICT DO NOTHING`);
  if (inserted > 0) return true;
  const stored = await tx.get<SampleRecord>(sql`SELECT ${raw(SAMPLE_COLUMNS)} FROM telemetry
    WHERE robot_id = ${robotId} AND recorded_at = ${recordedAt} AND id = ${id}`);
  if (stored === undefined || !isSameSample(stored, sample)) throw new SampleConflict(index);
  return false;
}

/** Adds new samples to the aggregates of their minutes, hours and day. Each is read and written once. */
async function addToDay(tx: Tx, robotId: string, day: number, samples: SampleRecord[]) {
  const row = await tx.get<{ names: string }>(
    sql`SELECT names FROM telemetry_names WHERE robot_id = ${robotId} AND day = ${day}`,
  );
  const stored: StoredNames = row === undefined ? noNames : JSON.parse(row.names);
  const names = rollUpNames(stored);
  const aggregates = await addToAggregates(samples, names, (resolution, at) =>
    tx.get<StoredAggregate>(sql`SELECT samples, summary FROM telemetry_rollups
      WHERE robot_id = ${robotId} AND resolution = ${resolution} AND at = ${at}`),
  );
  for (const { resolution, at, samples: count, summary } of aggregates) {
    await tx.run(sql`INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, summary)
      VALUES (${robotId}, ${resolution}, ${at}, ${count}, ${summary})
      ON CONFLICT DO UPDATE SET samples = excluded.samples, summary = excluded.summary`);
  }
  const grown = newNames(names, stored);
  if (grown === null) return;
  await tx.run(sql`INSERT INTO telemetry_names (robot_id, day, names)
    VALUES (${robotId}, ${day}, ${grown}) ON CONFLICT DO UPDATE SET names = excluded.names`);
}

/** Updates battery and state of the robot from new samples. */
async function showNewest(tx: Tx, robotId: string, samples: readonly SampleRecord[], now: number) {
  const shown = await tx.get<ShownRow>(
    sql`SELECT ${SHOWN_COLUMNS} FROM robots WHERE id = ${robotId}`,
  );
  if (shown === undefined) return;
  const next = shownAfter(shown, samples, now);
  await tx.run(sql`UPDATE robots SET battery_pct = ${next.battery_pct},
    battery_at = ${next.battery_at}, battery_since = ${next.battery_since}, state = ${next.state},
    state_at = ${next.state_at}, state_since = ${next.state_since} WHERE id = ${robotId}`);
}
