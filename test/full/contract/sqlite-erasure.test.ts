import { readFile } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { openTemporarySqlite, type TemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';

const SEEN = 'the visitor at gate 7';

let world: World;
let files: TemporarySqlite;
let robot: NewRobot;
let reader: Database.Database;

beforeEach(async () => {
  world = await World.open(async (clock) => {
    files = await openTemporarySqlite(clock);
    return files;
  });
  await world.lease();
  robot = await world.robot(await world.account(1_000));
  reader = new Database(files.path, { readonly: true });
});
afterEach(async () => {
  reader.close();
  await world.close();
});

/** What whoever has the disk can read, as it is now: nothing is checkpointed for the look. */
async function onDisk(path = files.path): Promise<Buffer> {
  const log = await readFile(`${path}-wal`).catch(() => Buffer.alloc(0));
  return Buffer.concat([await readFile(path), log]);
}

/** The key that the evidence of the task is sealed with. */
function keyOf(taskId: string): Buffer {
  const key = reader.prepare<[string], Buffer>(
    'SELECT key FROM proof_keys JOIN proofs ON key_id = proof_keys.id WHERE task_id = ?',
  );
  return key.pluck().get(taskId) ?? Buffer.from('no key');
}

async function handIn(seen: string): Promise<{ id: string; key: Buffer }> {
  const { id, ...task } = await world.task(robot.id);
  const done = await world.store.queueCompletion(world.completion({ id, ...task }, { seen }));
  expect(done).toEqual({ outcome: 'queued' });
  return { id, key: keyOf(id) };
}

/** Keeps the log from being emptied, as a backup does that takes its time. */
function readAnOlderState(): { end(): void } {
  const older = new Database(files.path, { readonly: true });
  older.exec('BEGIN');
  older.prepare('SELECT count(*) FROM proofs').get();
  return { end: () => older.close() };
}

describe('while another process reads an older state', () => {
  it('erasing answers, and the log is emptied when that process has ended', async () => {
    const { id, key } = await handIn(SEEN);
    const older = readAnOlderState();

    await world.store.eraseProof(id, robot.wallet);
    const meanwhile = (await onDisk()).includes(key);
    older.end();

    expect(meanwhile).toBe(true);
    await waitFor('an empty log', async () => !(await onDisk()).includes(key));
  });
});
