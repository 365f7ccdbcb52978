import type { Hex } from '../../../proof/bytes.ts';
import type { TaskStore } from '../../core/ports.ts';
import { isSameClaim } from '../task-rows.ts';
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
  const robotWallet = writer.prepare<[string, string], { wallet: string }>(
    'SELECT wallet FROM robots WHERE id = ? AND key_hash = ?',
  );
  const tombstone = writer.prepare<[string]>('SELECT 1 FROM tombstones WHERE task_id = ?');
  const insert = writer.prepare<[Record<string, string | number | null>]>(
    `INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
       created_at)
     VALUES (:id, :robotId, :wallet, :title, :description, :expectedResult, :occurredAt, :createdAt)`,
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

  return {
    createTask: (task) =>
      write(() => {
        const robot = robotWallet.get(task.robotId, task.keyHash);
        if (robot === undefined) return { outcome: 'robot_gone' };
        const stored = readTaskInWrite(task.id);
        if (stored !== null) {
          if (!task.idGiven || !isSameClaim(stored, task)) return { outcome: 'id_conflict' };
          seen(task.robotId, task.createdAt);
          return { outcome: 'repeated', task: stored };
        }
        if (tombstone.get(task.id) !== undefined) return { outcome: 'id_conflict' };
        const { idGiven: _, keyHash: __, ...row } = { ...task, wallet: robot.wallet };
        insert.run(row);
        seen(task.robotId, task.createdAt);
        return { outcome: 'created', task: { ...row, status: 'claimed', completion: null } };
      }),

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
