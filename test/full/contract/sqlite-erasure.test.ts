import { randomBytes } from 'node:crypto';
import { cp, readFile } from 'node:fs/promises';
import Database from 'better-sqlite3';
import fc from 'fast-check';
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

/** What a reader of the disk finds now. Nothing is checkpointed for this. */
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

describe('evidence', () => {
  it('is never stored in the clear, and its key is stored where it can be erased', async () => {
    const { key } = await handIn(SEEN);

    const disk = await onDisk();

    expect(disk.includes(SEEN)).toBe(false);
    expect(disk.includes(key)).toBe(true);
  });

  it('cannot be read any more once it is erased', async () => {
    const { id, key } = await handIn(SEEN);

    await world.store.eraseProof(id, robot.wallet);

    expect((await onDisk()).includes(key)).toBe(false);
    expect(keyOf(id)).toEqual(Buffer.from('no key'));
  });

  it('cannot be read any more once its robot is deleted', async () => {
    const { key } = await handIn(SEEN);

    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    expect((await onDisk()).includes(key)).toBe(false);
  });

  it('cannot be read any more soon after it was erased for its age', async () => {
    const { key } = await handIn(SEEN);

    await world.store.eraseOldProofs(world.now + 1, 10);

    await waitFor('an empty log', async () => !(await onDisk()).includes(key));
  });

  it('is overwritten in place', async () => {
    const { id } = await handIn(SEEN.repeat(1_000));
    const sealed = reader
      .prepare<[string], Buffer>('SELECT sealed FROM proofs WHERE task_id = ?')
      .pluck()
      .get(id);
    const part = sealed?.subarray(-100) ?? SEEN;
    expect((await onDisk()).includes(part)).toBe(true);

    await world.store.eraseProof(id, robot.wallet);

    expect((await onDisk()).includes(part)).toBe(false);
  });

  it('leaves no copy of a key behind, whatever else is erased and in any order', async () => {
    const ends = fc.shuffledSubarray([...Array(120).keys()], { minLength: 90 });
    await fc.assert(
      fc.asyncProperty(ends, async (order) => {
        const all = await Promise.all(
          Array.from({ length: 120 }, (_, i) => handIn(randomBytes(i * 7).toString('hex'))),
        );
        const erased = order.map((i) => all[i] ?? { id: '', key: Buffer.alloc(0) });
        await Promise.all(erased.map(({ id }) => world.store.eraseProof(id, robot.wallet)));

        const disk = await onDisk();
        expect(erased.filter(({ key }) => disk.includes(key))).toEqual([]);
      }),
      { numRuns: 5 },
    );
  });
});

describe('a repeated erasure', () => {
  /** The last write is in the log until the log is emptied. */
  const logBytes = async () => (await readFile(`${files.path}-wal`)).length;

  it('does not empty the log again', async () => {
    const { id } = await handIn(SEEN);
    await world.store.eraseProof(id, robot.wallet);
    await handIn(SEEN);
    const before = await logBytes();

    expect(await world.store.eraseProof(id, robot.wallet)).toBe('erased');

    expect(before).toBeGreaterThan(0);
    expect(await logBytes()).toBe(before);
  });

  it('waits like the first one until the log is emptied', async () => {
    const { id, key } = await handIn(SEEN);
    const first = world.store.eraseProof(id, robot.wallet);

    await world.store.eraseProof(id, robot.wallet);

    expect((await onDisk()).includes(key)).toBe(false);
    expect(await first).toBe('erased');
  });
});

describe('while another process reads an older state', () => {
  it('an erasure resolves, and the log is emptied after that process has ended', async () => {
    const { id, key } = await handIn(SEEN);
    const older = readAnOlderState();

    await world.store.eraseProof(id, robot.wallet);
    const meanwhile = (await onDisk()).includes(key);
    older.end();

    expect(meanwhile).toBe(true);
    await waitFor('an empty log', async () => !(await onDisk()).includes(key));
  });

  it('the next start empties the log after a crash', async () => {
    const { id, key } = await handIn(SEEN);
    const older = readAnOlderState();
    await world.store.eraseProof(id, robot.wallet);
    const left = await openTemporarySqlite(world.clock);
    await left.store.close();
    for (const suffix of ['', '-wal', '.identity'])
      await cp(files.path + suffix, left.path + suffix);
    older.end();
    expect((await onDisk(left.path)).includes(key)).toBe(true);

    await left.reopen();

    await waitFor('an empty log', async () => !(await onDisk(left.path)).includes(key));
    await left.close();
  });
});
