import type { Hex } from '../../../proof/bytes.ts';
import type { NewTask, TaskStore } from '../../core/ports.ts';
import { claimedTask, isSameClaim } from '../task-rows.ts';
import type { Access } from './access.ts';
import { sightings } from './sightings.ts';
import { isVisibleTo, taskReader } from './task-records.ts';

export function taskStore({
  reader,
  writer,
  write,
  read,
}: Access): Pick<
  TaskStore,
  'createTask' | 'getTask' | 'findPublicAnchor' | 'hasAnchorTransaction'
> {
  const readTask = taskReader(reader);
  const readTaskInWrite = taskReader(writer);
  const seen = sightings(writer);
  const robotOfKey = writer.prepare<[string, string]>(
    'SELECT 1 FROM robots WHERE id = ? AND key_hash = ?',
  );
  // Nothing where the key is gone or the id was used: that is looked into only then.
  const insert = writer.prepare<
    [string, string, string | null, string | null, string | null, number, string, string, string],
    { wallet: string }
  >(
    `INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
       created_at)
     SELECT ?, id, wallet, ?, ?, ?, ?, ? FROM robots
     WHERE id = ? AND key_hash = ? AND NOT EXISTS (SELECT 1 FROM tombstones WHERE task_id = ?)
     ON CONFLICT (id) DO NOTHING RETURNING wallet`,
  );
  const firstAnchored = reader.prepare<[Hex], { task_id: string }>(
    'SELECT task_id FROM receipts WHERE proof_hash = ? ORDER BY seq LIMIT 1',
  );
  const firstQueued = reader.prepare<[Hex], { task_id: string }>(
    'SELECT task_id FROM completions WHERE proof_hash = ? ORDER BY reserve_seq LIMIT 1',
  );
  const occurrences = reader.prepare<[Hex], { occurrences: number }>(
    'SELECT occurrences FROM proof_hashes WHERE proof_hash = ?',
  );
  const robotName = reader.prepare<[string], { name: string }>(
    'SELECT name FROM robots WHERE id = ?',
  );
  const signed = reader.prepare<[Hex]>('SELECT 1 FROM variants WHERE tx_hash = ?');

  function create(task: NewTask): Awaited<ReturnType<TaskStore['createTask']>> {
    const { id, robotId, keyHash, createdAt } = task;
    const inserted = insert.get(
      id,
      task.title,
      task.description,
      task.expectedResult,
      task.occurredAt,
      createdAt,
      robotId,
      keyHash,
      id,
    );
    if (inserted !== undefined) {
      seen(robotId, createdAt);
      return { outcome: 'created', task: claimedTask(task, inserted.wallet) };
    }
    if (robotOfKey.get(robotId, keyHash) === undefined) return { outcome: 'robot_gone' };
    const stored = readTaskInWrite(id);
    if (stored === null || !task.idGiven || !isSameClaim(stored, task)) {
      return { outcome: 'id_conflict' };
    }
    seen(robotId, createdAt);
    return { outcome: 'repeated', task: stored };
  }

  return {
    createTask: (task) => write(() => create(task)),

    getTask: (id, viewer) =>
      read(() => {
        const task = readTask(id);
        return task !== null && isVisibleTo(task, viewer) ? task : null;
      }),

    findPublicAnchor: (proofHash, taskId) =>
      read(() => {
        const id =
          taskId ?? (firstAnchored.get(proofHash) ?? firstQueued.get(proofHash))?.task_id ?? null;
        const task = id === null ? null : readTask(id);
        if (task?.completion?.proofHash !== proofHash) return null;
        const robot = robotName.get(task.robotId);
        const count = occurrences.get(proofHash);
        if (robot === undefined || count === undefined) return null;
        return { task, robotName: robot.name, occurrences: count.occurrences };
      }),

    hasAnchorTransaction: (txHash) => read(() => signed.get(txHash) !== undefined),
  };
}
