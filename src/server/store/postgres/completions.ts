// Stores completions: queues proofs of concurrent requests, and reserves their credits, in one statement.

import { batching } from '../../../base/async/batching.ts';
import type { CompletionStore, NewCompletion, QueueOutcome } from '../../ports/completions.ts';
import { storageUnavailable } from '../../ports/errors.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { lacksCredit } from '../../rules/credits.ts';
import { proofBytes } from '../../rules/storage.ts';
import { refuseForCredit } from '../alerts.ts';
import { QUEUE_TOPIC } from '../anchoring/waits.ts';
import type { Tx } from '../db/database.ts';
import { raw, type Sql, sql } from '../db/sql.ts';
import { newProofKey, sealProof } from '../evidence.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { decideIn, findTask, type SituationRow, selectSituation } from '../tasks.ts';
import type { PostgresDb } from './engine/database.ts';
import { unlessContended } from './engine/errors.ts';

const again = completionMove('try_again');

/** Tries to queue a completion, each after a concurrent change. */
const ATTEMPTS = 5;
/** While the database writes one group, this process prepares the next. */
const GROUPS_AT_ONCE = 2;
const COMPLETIONS_AT_ONCE = 128;
const CHARACTERS_AT_ONCE = 1_000_000;

/** A completion that may be queued, with the account and the cycle that it had when it was decided. */
interface Due {
  completion: NewCompletion;
  wallet: string;
  cycle: number;
  gas: bigint;
}

export function completionStore(db: PostgresDb, usage: StorageUsage) {
  const decide = batching({
    atOnce: GROUPS_AT_ONCE,
    keyOf: ({ taskId }: NewCompletion) => taskId,
    startGroup: completionGroup,
    async doTogether(completions) {
      const rows = await situationsOf(db.alone, completions);
      const found = new Map(completions.map((completion, i) => [completion, rows[i]]));
      return (completion: NewCompletion) => {
        const row = found.get(completion);
        return decideIn(row?.wallet ? row : null, completion.statementHash);
      };
    },
  });

  /** Returns the bytes of the stored evidence, if it was stored. Completions of an account are in one group at a time. */
  const reserve = batching({
    atOnce: GROUPS_AT_ONCE,
    keyOf: ({ wallet }: Due) => wallet,
    startGroup() {
      const hasRoom = completionGroup();
      return ({ completion }: Due) => hasRoom(completion);
    },
    async doTogether(due) {
      const lock = raw('SKIP LOCKED');
      const queued = new Map(await reserveAndQueue(db, due, lock).catch(unlessContended));
      return ({ completion }: Due) => queued.get(completion.taskId);
    },
  });

  /** Decides and queues. `null` if the data changed between the decision and the write. */
  async function decideAndQueue(completion: NewCompletion): Promise<QueueOutcome | null> {
    const { taskId, now } = completion;
    const { decision, wasRefused } = await decide(completion);
    if (lacksCredit(decision) && !wasRefused) {
      const { outcome } = decision;
      await db.write((tx) => refuseForCredit(tx, taskId, outcome, now));
    }
    if (!('task' in decision)) return decision;
    if (decision.outcome !== 'queued') return existingCompletion(db, taskId);
    const { wallet, cycle } = decision.task.row;
    const due = { completion, wallet, cycle: (cycle ?? 0) + 1, gas: decision.gasWei };
    // Outside a group, the completion waits for the locks of robot and task.
    const bytes = (await reserve(due)) ?? (await reserveAndQueue(db, [due], sql``))[0]?.[1];
    if (bytes === undefined) return null;
    usage.add(wallet, bytes);
    return { outcome: 'queued' };
  }

  return {
    async queueCompletion(completion) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const outcome = await decideAndQueue(completion);
        if (outcome?.outcome === 'queued') db.wake([QUEUE_TOPIC]);
        if (outcome !== null) return outcome;
      }
      throw storageUnavailable('Too many concurrent updates. Retry.');
    },
  } satisfies Partial<CompletionStore>;
}

function completionGroup(): (completion: NewCompletion) => boolean {
  const ids = new Set<string>();
  let characters = 0;
  return ({ taskId, proof }) => {
    const more = characters + proof.length;
    if (ids.size > 0 && (ids.size === COMPLETIONS_AT_ONCE || more > CHARACTERS_AT_ONCE))
      return false;
    if (ids.has(taskId)) return false;
    ids.add(taskId);
    characters = more;
    return true;
  };
}

/** Reads the situations in the order of the completions. `wallet` is null if the robot or its key is gone. */
function situationsOf(tx: Tx, completions: readonly NewCompletion[]) {
  const given = sql`unnest(${completions.map(({ taskId }) => taskId)}::uuid[],
      ${completions.map(({ robotId }) => robotId)}::uuid[],
      ${completions.map(({ keyHash }) => keyHash)}::text[])
      WITH ORDINALITY AS given (task_id, robot_id, key_hash, place)
    LEFT JOIN (robots r JOIN accounts a ON a.wallet = r.wallet)
      ON r.id = given.robot_id AND r.key_hash = given.key_hash`;
  return tx.all<SituationRow>(
    sql`${selectSituation(given, raw('given.task_id'))} ORDER BY given.place`,
  );
}

/**
 * Stores each proof in the next round of its account, and reserves its credits, or writes nothing of it. Each part is
 * checked again under its lock. Locks accounts, robots, tasks, in this order. The ledger accepts one reservation per task
 * and cycle, so only one of several instances succeeds. `lock`: how to lock robots and tasks. Returns the bytes of the
 * stored evidence by task.
 */
async function reserveAndQueue(
  { alone }: PostgresDb,
  due: readonly Due[],
  lock: Sql,
): Promise<[taskId: string, bytes: number][]> {
  const all = due.map(({ completion }) => completion);
  const keys = all.map(newProofKey);
  const sealed = all.map(({ proof }, i) => sealProof(proof, keys[i] as Buffer));
  const queued = await alone.all<{ task_id: string }>(sql`WITH given AS (
      SELECT * FROM unnest(${due.map(({ wallet }) => wallet)}::text[],
        ${due.map(({ cycle }) => cycle)}::integer[], ${due.map(({ gas }) => String(gas))}::numeric[],
        ${all.map(({ taskId }) => taskId)}::uuid[], ${all.map(({ robotId }) => robotId)}::uuid[],
        ${all.map(({ keyHash }) => keyHash)}::text[], ${all.map(({ proofHash }) => proofHash)}::text[],
        ${all.map(({ claimHash }) => claimHash)}::text[], ${all.map(({ leaf }) => leaf)}::text[],
        ${all.map(({ statementHash }) => statementHash)}::text[],
        ${all.map(({ outcome }) => outcome)}::text[], ${all.map(({ now }) => now)}::bigint[],
        ${keys}::bytea[], ${sealed}::bytea[])
        WITH ORDINALITY AS given (wallet, cycle, gas_wei, task_id, robot_id, key_hash, proof_hash,
          claim_hash, leaf, statement_hash, outcome, now, key, sealed, place)
    ), account AS (
      SELECT wallet, anchor_quota, gas_credit_wei FROM accounts
      WHERE wallet = ANY(ARRAY(SELECT wallet FROM given)) ORDER BY wallet FOR UPDATE
    ), robot AS (
      SELECT id, key_hash, signs FROM robots
      WHERE id = ANY(ARRAY(SELECT robot_id FROM given JOIN account USING (wallet))) FOR UPDATE ${lock}
    ), task AS (
      SELECT id, robot_id FROM tasks WHERE id = ANY(ARRAY(
        SELECT task_id FROM given JOIN robot ON id = robot_id AND robot.key_hash = given.key_hash
        WHERE signs = 0 OR statement_hash IS NOT NULL)) FOR KEY SHARE ${lock}
    ), sums AS (
      SELECT given.*, row_number() OVER sum AS anchors, sum(gas_wei) OVER sum AS gas
      FROM given JOIN task ON task.id = task_id AND task.robot_id = given.robot_id
      WINDOW sum AS (PARTITION BY wallet ORDER BY place)
    ), reserved AS (
      INSERT INTO ledger (wallet, kind, anchors, gas_wei, task_id, cycle, at)
      SELECT wallet, 'reserve', -1, -gas_wei, task_id, cycle, now FROM sums JOIN account USING (wallet)
      WHERE anchor_quota >= anchors AND gas_credit_wei >= gas ORDER BY place
      ON CONFLICT (task_id, cycle) WHERE kind = 'reserve' DO NOTHING
      RETURNING seq, wallet, gas_wei, task_id
    ), paid AS (
      UPDATE accounts a SET anchor_quota = anchor_quota - anchors,
        gas_credit_wei = gas_credit_wei + gas,
        last_round = greatest(last_round + 1, (SELECT round FROM queue_round WHERE id = 1)) + anchors - 1
      FROM (SELECT wallet, count(*) AS anchors, sum(gas_wei) AS gas FROM reserved GROUP BY wallet) AS r
      WHERE a.wallet = r.wallet RETURNING a.wallet, last_round - anchors AS round_before
    ), queued AS (
      SELECT given.*, seq, round_before + row_number() OVER (PARTITION BY wallet ORDER BY seq) AS round
      FROM reserved JOIN given USING (task_id, wallet) JOIN paid USING (wallet)
    ), seen AS (
      UPDATE robots SET last_seen_at = newest.at
      FROM (SELECT robot_id, max(now) AS at FROM queued GROUP BY robot_id) AS newest
      WHERE id = robot_id AND (last_seen_at IS NULL OR last_seen_at < newest.at)
    ), kept AS (
      INSERT INTO proofs (task_id, key, sealed, stored_at) SELECT task_id, key, sealed, now FROM queued
      ON CONFLICT (task_id) DO UPDATE SET
        key = excluded.key, sealed = excluded.sealed, stored_at = excluded.stored_at
    )
    INSERT INTO completions AS c (task_id, state, proof_hash, claim_hash, leaf, cycle, generation,
      reserve_seq, round, queued_at, updated_at, statement_hash, outcome)
    SELECT task_id, ${raw(again.to)}, proof_hash, claim_hash, leaf, cycle, 0, seq, round, now, now,
      statement_hash, outcome FROM queued
    -- A trigger locks the counts of the hashes, in this order.
    ORDER BY proof_hash
    ON CONFLICT (task_id) DO UPDATE SET state = excluded.state,
      proof_hash = excluded.proof_hash, claim_hash = excluded.claim_hash, leaf = excluded.leaf,
      cycle = excluded.cycle, generation = 0, reserve_seq = excluded.reserve_seq,
      round = excluded.round, queued_at = excluded.queued_at, updated_at = excluded.updated_at,
      failure = NULL, statement_hash = excluded.statement_hash, outcome = excluded.outcome,
      offered_to = NULL, offered_until = 0
    RETURNING task_id`);
  const bytes = new Map(all.map(({ taskId }, i) => [taskId, proofBytes(sealed[i] as Buffer)]));
  return queued.map(({ task_id }) => [task_id, bytes.get(task_id) ?? 0]);
}

/** The completion that prevents a new one. `null` if it failed or was deleted meanwhile. */
async function existingCompletion(
  { alone }: PostgresDb,
  taskId: string,
): Promise<QueueOutcome | null> {
  const task = await findTask(alone, taskId);
  if (task?.status === 'verified') return { outcome: 'already_completed', task };
  if (task === null || task.completion === null || task.completion.state === 'failed') return null;
  return { outcome: 'completion_in_progress', task };
}
