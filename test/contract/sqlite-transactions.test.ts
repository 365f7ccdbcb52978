import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Tx } from '../../src/server/store/db/database.ts';
import { NOW, sql } from '../../src/server/store/db/sql.ts';
import { type LogFile, openLogFile } from '../../src/server/store/sqlite/engine/disk.ts';
import { GroupCommit } from '../../src/server/store/sqlite/engine/group-commit.ts';
import { readSnapshot } from '../../src/server/store/sqlite/engine/read-snapshot.ts';
import { readsOf } from '../../src/server/store/sqlite/engine/reads.ts';
import { failsWith } from './world.ts';

const AWAITED = /awaited something else/;

describe('a transaction of SQLite', () => {
  let folder: string;
  let writer: Database.Database;
  let reader: Database.Database;
  let log: LogFile;
  let group: GroupCommit;
  let read: ReturnType<typeof readsOf>;
  let faults: Error[];
  /** Ends the running flush, if a test holds it. */
  let endFlush: (() => void) | null;
  let holdsFlush: boolean;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'svc-transactions-'));
    writer = new Database(path.join(folder, 'db'), { timeout: 0 });
    writer.pragma('journal_mode = WAL');
    writer.exec('CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)');
    reader = new Database(path.join(folder, 'db'), { readonly: true });
    log = openLogFile(writer);
    faults = [];
    const onFatal = (error: Error) => faults.push(error);
    const snapshot = readSnapshot(reader, onFatal);
    const clock = { now: () => 1_000 };
    const probeRoom = () => writer.exec('INSERT INTO notes (text) VALUES (hex(randomblob(8192)))');
    [endFlush, holdsFlush] = [null, false];
    const flush = () =>
      holdsFlush
        ? new Promise<void>((resolve) => {
            endFlush = resolve;
          })
        : log.flush();
    const disk = { ...log, flush };
    group = new GroupCommit({
      db: writer,
      log: disk,
      snapshot,
      now: clock.now,
      probeRoom,
      onFatal,
    });
    read = readsOf({ reader, clock, snapshot, onFatal });
  });
  afterEach(async () => {
    await group.drain();
    log.close();
    reader.close();
    writer.close();
    rmSync(folder, { recursive: true });
    expect(faults).toEqual([]);
  });

  const note = (tx: Tx, text: string) => tx.run(sql`INSERT INTO notes (text) VALUES (${text})`);
  const notes = async () => {
    const found = await read((tx) => tx.all<{ text: string }>(sql`SELECT text FROM notes`));
    return found.map(({ text }) => text);
  };

  it('is durable with all its statements when it resolves', async () => {
    await group.write(async (tx) => {
      await note(tx, 'a');
      await note(tx, 'b');
    });

    expect(await notes()).toEqual(['a', 'b']);
  });

  it('does not affect the others of its commit if it throws', async () => {
    const written = Array.from({ length: 300 }, (_, i) =>
      group.write(async (tx) => {
        await note(tx, `${i}`);
        if (i % 3 === 0) throw new RangeError('no');
        await note(tx, `${i} again`);
      }),
    );

    const results = await Promise.allSettled(written);

    const kept = results.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []));
    expect(kept).toHaveLength(200);
    expect(await notes()).toEqual(kept.flatMap((i) => [`${i}`, `${i} again`]));
  });

  it.each<[string, () => Promise<unknown>]>([
    ['another turn of the event loop', () => nextTurn()],
    ['a request', () => fetch('http://127.0.0.1:65000').catch(() => {})],
    ['another write', () => group.write((tx) => note(tx, 'inner'))],
    ['what never comes', () => new Promise(() => {})],
  ])('is undone if it waits for %s', async (_what, wait) => {
    const waiting = group.write(async (tx) => {
      await note(tx, 'before');
      await wait();
      await note(tx, 'after');
    });
    const other = group.write((tx) => note(tx, 'other'));

    await expect(waiting).rejects.toThrow(AWAITED);
    await other;
    await group.drain();

    expect((await notes()).filter((text) => text !== 'inner')).toEqual(['other']);
  });

  it('refuses statements after it has ended', async () => {
    let late: Tx | undefined;
    await group.write((tx) => {
      late = tx;
    });

    expect(() => late?.run(sql`DELETE FROM notes`)).toThrow('has ended');
  });

  it('has run the statements that it did not await', async () => {
    await group.write((tx) => {
      void note(tx, 'a');
    });

    expect(await notes()).toEqual(['a']);
  });

  it('fails with the error of a statement that it caught, and runs no further one', async () => {
    const caught: unknown[] = [];
    const failing = group.write(async (tx) => {
      await note(tx, 'a');
      for (const text of ['a', 'b']) {
        try {
          await note(tx, text);
        } catch (error) {
          caught.push(error);
        }
      }
    });

    await expect(failing).rejects.toThrow('UNIQUE');
    expect(caught).toHaveLength(2);
    expect(caught[1]).toBe(caught[0]);
    expect(await notes()).toEqual([]);
  });

  it('loses its commit when it caught that the disk is full', async () => {
    const pages = Number(writer.pragma('page_count', { simple: true }));
    writer.pragma(`max_page_count = ${pages + 2}`);
    const results = await Promise.allSettled([
      group.write((tx) => note(tx, 'first')),
      group.write(async (tx) => {
        try {
          await note(tx, 'x'.repeat(100_000));
        } catch {}
      }),
    ]);

    expect(results).toMatchObject([
      { reason: failsWith('storage_unavailable') },
      { reason: failsWith('storage_unavailable') },
    ]);
    expect(await notes()).toEqual([]);
  });

  it('reads one state, even if a commit becomes durable meanwhile', async () => {
    const count = sql`SELECT count(*) AS notes FROM notes`;
    holdsFlush = true;
    const written = group.write((tx) => note(tx, 'a'));
    await vi.waitFor(() => expect(endFlush).not.toBeNull());

    endFlush?.();
    const seen = await read(async (tx) => {
      const counts: unknown[] = [];
      for (let i = 0; i < 50; i += 1) counts.push(await tx.get(count));
      return counts;
    });
    await written;

    expect(seen).toEqual(Array(50).fill({ notes: 0 }));
    expect(await notes()).toEqual(['a']);
  });

  it('fails if it reads across turns of the event loop', async () => {
    const reading = read(async (tx) => {
      await tx.all(sql`SELECT * FROM notes`);
      await nextTurn();
      return tx.all(sql`SELECT * FROM notes`);
    });

    await expect(reading).rejects.toThrow(AWAITED);
  });

  it('gets the time of the clock', async () => {
    expect(await read((tx) => tx.get(sql`SELECT ${NOW} AS now`))).toEqual({ now: 1_000 });
  });
});
