// Stores which leaves an attempt gets: assigned in short commits before it is signed, and returned to the queue.

import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease, LeavesOfAttempt } from '../../ports/anchoring.ts';
import { completionMove } from '../../rules/anchoring.ts';
import type { Db, Tx } from '../db/database.ts';
import { among, elements, onPostgres, typed } from '../db/dialect.ts';
import { raw, type Sql, sql } from '../db/sql.ts';
import { lockReserving } from '../ledger.ts';
import { placeFreeLeaves, releaseFreeLeaves } from './free-leaves.ts';
import { endOffers, QUEUE_TOPIC } from './waits.ts';

const sign = completionMove('sign');
const requeue = completionMove('requeue');

type TaskRow = { task_id: string };

export function assignmentStore({ leased, wake }: Db) {
  return {
    assignLeaves: (lease, attempt, from, to) =>
      leased.write(lease, async (tx) => {
        await noteAssignment(tx, lease, attempt.id);
        await placeLeaves(tx, attempt, from, to);
      }),

    async returnLeaves(lease, limit, now) {
      if ((await leased.read(lease, (tx) => unfinished(tx, lease))) === null) return false;
      await leased.write(lease, (tx) => returnSome(tx, lease, limit, now));
      wake([QUEUE_TOPIC]);
      return true;
    },
  } satisfies Partial<AnchorStore>;
}

/**
 * The leaves of the attempt go back to the queue when the lease is taken, unless `endAssignment` is called before. Locks
 * the assignment also if it exists: a write of the same holder waits for a commit whose answer was lost.
 */
export async function noteAssignment(tx: Tx, { chainId, sender }: Lease, attemptId: string) {
  await tx.run(sql`INSERT INTO assignments (attempt_id, chain_id, sender)
    VALUES (${attemptId}, ${chainId}, ${sender}) ON CONFLICT (attempt_id) DO UPDATE SET sender = excluded.sender`);
}

/** Returns whether there was an assignment. */
export async function endAssignment(tx: Tx, attemptId: string): Promise<boolean> {
  return (await tx.run(sql`DELETE FROM assignments WHERE attempt_id = ${attemptId}`)) > 0;
}

/** Gives the attempt its leaves from one index of the tree to another. @throws SvcError `not_queued` */
export async function placeLeaves(
  tx: Tx,
  { id, leaves, freeLeaves, now }: LeavesOfAttempt,
  from: number,
  to: number,
): Promise<void> {
  const moved = await moveLeaves(tx, { id, from, now }, leaves.slice(from, to));
  const free = freeLeaves.slice(Math.max(0, from - leaves.length), Math.max(0, to - leaves.length));
  if (moved && (await placeFreeLeaves(tx, id, Math.max(from, leaves.length), free))) return;
  throw new SvcError('not_queued', 'A leaf is no longer queued.');
}

/** Moves queued completions into the attempt, and advances the round. Returns whether all of them were still queued. */
async function moveLeaves(
  tx: Tx,
  { id, from, now }: { id: string; from: number; now: number },
  leaves: LeavesOfAttempt['leaves'],
): Promise<boolean> {
  if (leaves.length === 0) return true;
  const given = leaves.map(({ taskId, leaf }, i) => [taskId, leaf, from + i]);
  const queued = sql`FROM ${elements(given)} AS g CROSS JOIN completions c
    WHERE c.task_id = ${typed('uuid', sql`(g.value ->> 0)`)} AND c.leaf = g.value ->> 1
      AND c.state IN ${raw(sign.from)}`;
  await tx.run(onPostgres(sql`SELECT c.task_id ${queued} ORDER BY c.task_id FOR NO KEY UPDATE`));
  // The paths follow from the order of the leaves; the settlement stores them.
  const moved = await tx.run(sql`
    INSERT INTO leaves (attempt_id, leaf_index, task_id, leaf, path, generation)
    SELECT ${id}, CAST(g.value ->> 2 AS integer), c.task_id, c.leaf, ${Buffer.alloc(0)}, c.generation
    ${queued}`);
  if (moved !== leaves.length) return false;
  const these = sql`FROM leaves WHERE attempt_id = ${id} AND leaf_index >= ${from}`;
  await tx.run(sql`UPDATE completions SET state = ${raw(sign.to)}, updated_at = ${now}
    WHERE task_id IN (SELECT task_id ${these}) AND state IN ${raw(sign.from)}`);
  await tx.run(sql`UPDATE queue_round SET round = signed.round
    FROM (SELECT max(round) AS round FROM completions WHERE task_id IN (SELECT task_id ${these})) AS signed
    WHERE id = 1 AND queue_round.round < signed.round`);
  // Of deleted tasks, only the leaf in the attempt is left.
  await tx.run(sql`DELETE FROM completions WHERE claim_hash = leaf
    AND task_id IN (SELECT task_id ${these})`);
  return true;
}

function unfinished(tx: Tx, { chainId, sender }: Lease, lock: Sql = sql``) {
  return tx.get<{ id: string; deaths: number }>(sql`SELECT attempt_id AS id,
      (SELECT count(*) FROM attempts a WHERE a.id = attempt_id) AS deaths
    FROM assignments WHERE chain_id = ${chainId} AND sender = ${sender} LIMIT 1 ${lock}`);
}

/** Returns some leaves of an attempt that is dead or was never signed. Forgets the attempt once there are none. */
export async function returnSome(tx: Tx, lease: Lease, limit: number, now: number): Promise<void> {
  const attempt = await unfinished(tx, lease, onPostgres(sql`FOR UPDATE`));
  if (attempt === null) return;
  const { id, deaths } = attempt;
  const live = await tx.all<TaskRow>(sql`SELECT task_id FROM leaves
    WHERE attempt_id = ${id} AND live LIMIT ${limit}`);
  const freed = await releaseFreeLeaves(tx, id, limit);
  if (live.length < limit && freed < limit) await endAssignment(tx, id);
  const taskIds = live.map(({ task_id }) => task_id);
  await lockReserving(tx, taskIds);
  const gone = await queueAgain(tx, taskIds, deaths, now);
  await queueLeaves(tx, attempt, gone, now);
  await endOffers(tx, taskIds);
  const these = sql`attempt_id = ${id} AND task_id ${among('uuid', taskIds)}`;
  // The leaf of a dead attempt stays: the chain may have it, in a transaction that failed.
  if (deaths > 0) await tx.run(sql`UPDATE leaves SET live = false WHERE ${these}`);
  else await tx.run(sql`DELETE FROM leaves WHERE ${these}`);
}

/** Queues the completions of tasks that still exist, in their next generation. Returns the tasks that do not. */
async function queueAgain(tx: Tx, taskIds: readonly string[], deaths: number, now: number) {
  const waiting = await tx.all<TaskRow>(locked(taskIds));
  const queued = await tx.run(sql`UPDATE completions
    SET state = ${raw(requeue.to)}, generation = generation + ${deaths}, updated_at = ${now}
    WHERE task_id ${among('uuid', taskIds)} AND state IN ${raw(requeue.from)}`);
  if (queued !== waiting.length) throw unexpectedState();
  const existing = new Set(waiting.map(({ task_id }) => task_id));
  return taskIds.filter((taskId) => !existing.has(taskId));
}

/** Queues the leaves of deleted tasks again, as the deletion of a queued task leaves them. */
async function queueLeaves(
  tx: Tx,
  { id, deaths }: { id: string; deaths: number },
  taskIds: readonly string[],
  now: number,
): Promise<void> {
  await tx.run(sql`INSERT INTO completions (task_id, state, proof_hash, claim_hash, leaf, cycle,
      generation, reserve_seq, round, queued_at, updated_at)
    SELECT l.task_id, ${raw(requeue.to)}, l.leaf, l.leaf, l.leaf, r.cycle, l.generation + ${deaths},
      r.seq, 0, r.at, ${now}
    FROM leaves l JOIN ledger r ON r.task_id = l.task_id AND r.kind = 'reserve'
    WHERE l.attempt_id = ${id} AND l.task_id ${among('uuid', taskIds)}
      AND NOT EXISTS (SELECT 1 FROM ledger later WHERE later.task_id = l.task_id
        AND later.kind = 'reserve' AND later.cycle > r.cycle)`);
}

/** Selects the tasks that still exist, and locks them with their completions. */
export function locked(taskIds: readonly string[]): Sql {
  return sql`SELECT c.task_id FROM tasks t JOIN completions c ON c.task_id = t.id
    WHERE t.id ${among('uuid', taskIds)} ORDER BY t.id ${onPostgres(sql`FOR NO KEY UPDATE`)}`;
}

export function unexpectedState(): Error {
  return new Error('A leaf of the attempt has a completion in an unexpected state');
}
