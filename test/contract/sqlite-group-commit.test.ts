import { writeFileSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LogFile, openLogFile } from '../../src/server/store/sqlite/engine/disk.ts';
import {
  GroupCommit,
  type GroupCommitOptions,
} from '../../src/server/store/sqlite/engine/group-commit.ts';
import {
  type ReadSnapshot,
  readSnapshot,
} from '../../src/server/store/sqlite/engine/read-snapshot.ts';
import { waitFor } from '../support/wait-for.ts';
import { failsWith } from './world.ts';

const unavailable = failsWith('storage_unavailable');

describe('group commit', () => {
  let folder: string;
  let path: string;
  let db: Database.Database;
  let reader: Database.Database;
  let other: Database.Database;
  let log: LogFile;
  let snapshot: ReadSnapshot;
  let faults: Error[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-group-'));
    path = join(folder, 'db');
    openDatabase();
    faults = [];
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    closeDatabase();
    await rm(folder, { recursive: true, force: true });
  });

  function openDatabase() {
    db = new Database(path, { timeout: 0 });
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.exec('CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)');
    reader = new Database(path);
    other = new Database(path, { timeout: 0 });
    log = openLogFile(db);
    snapshot = readSnapshot(reader, (error) => faults.push(error));
  }

  function closeDatabase() {
    log.close();
    for (const connection of [reader, other, db]) connection.close();
  }

  function start(options: Partial<GroupCommitOptions> = {}): GroupCommit {
    return new GroupCommit({
      db,
      log,
      snapshot,
      now: Date.now,
      probeRoom: () => fill(1),
      onFatal: (error) => faults.push(error),
      probeEveryMs: 10,
      ...options,
    });
  }

  const note = (text: string) => () => db.prepare('INSERT INTO notes (text) VALUES (?)').run(text);
  const fill = (pages: number) =>
    db.prepare('INSERT INTO notes (text) VALUES (hex(randomblob(?)))').run(pages * 2048);
  const stored = () =>
    other.prepare<[], string>('SELECT text FROM notes ORDER BY id').pluck().all();

  it('answers after the commit is visible to another connection', async () => {
    const group = start();

    await group.write(note('a'));

    expect(stored()).toEqual(['a']);
  });

  it('runs writes that arrive together in one transaction, in order', async () => {
    const group = start();
    const dataVersion = () => other.pragma('data_version', { simple: true });
    const before = Number(dataVersion());

    await Promise.all(['a', 'b', 'c'].map((text) => group.write(note(text))));

    expect(stored()).toEqual(['a', 'b', 'c']);
    expect(Number(dataVersion())).toBe(before + 1);
  });

  it('undoes only a failed write and reports the reason to its caller', async () => {
    const group = start();
    const failing = () => {
      note('half')();
      throw new RangeError('no');
    };

    const results = await Promise.allSettled([
      group.write(note('a')),
      group.write(failing),
      group.write(note('a')),
      group.write(note('b')),
    ]);

    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(results[1]).toMatchObject({ reason: new RangeError('no') });
    expect(stored()).toEqual(['a', 'b']);
  });

  it('yields to the event loop between groups', async () => {
    const group = start();
    const turns = countTurns();
    const clock = movedClock();
    const ranIn: number[] = [];
    // Two fill a group.
    const slow = () => {
      clock.now += 5;
      ranIn.push(turns.count);
    };

    await Promise.all(Array.from({ length: 20 }, () => group.write(slow)));
    turns.stop();

    expect(ranIn).toHaveLength(20);
    expect(new Set(ranIn).size).toBe(10);
  });

  it('drains: answers accepted writes and refuses later ones', async () => {
    const group = start();
    const accepted = group.write(note('a'));

    const drained = group.drain();

    await expect(group.write(note('b'))).rejects.toMatchObject(unavailable);
    await drained;
    await accepted;
    expect(stored()).toEqual(['a']);
  });

  describe('while a commit is flushed', () => {
    let flushed: { resolve: () => void; reject: (error: Error) => void };
    let flushes: number;

    beforeEach(() => {
      flushes = 0;
    });

    function startWithSlowDisk() {
      const flush = () =>
        new Promise<void>((resolve, reject) => {
          flushed = { resolve, reject };
          flushes += 1;
        });
      return start({ log: { flush, close: () => {} } });
    }

    const seenByReads = () =>
      snapshot.read(() => reader.prepare<[], string>('SELECT text FROM notes').pluck().all());

    it('answers no caller, and reads see the state before it', async () => {
      const group = startWithSlowDisk();
      let isAnswered = false;

      const written = group.write(note('a')).then(() => {
        isAnswered = true;
      });
      await waitFor('the flush', () => flushes === 1);
      await nextTurn();

      expect(stored()).toEqual(['a']);
      expect(await seenByReads()).toEqual([]);
      expect(isAnswered).toBe(false);
      flushed.resolve();
      await written;
      expect(await seenByReads()).toEqual(['a']);
    });

    it('starts no other commit, and adds new writes to the next one', async () => {
      const group = startWithSlowDisk();
      const first = group.write(note('a'));
      await waitFor('the flush', () => flushes === 1);

      const later = [group.write(note('b')), group.write(note('c'))];
      await nextTurn();
      expect(stored()).toEqual(['a']);
      flushed.resolve();
      await first;
      await waitFor('the next flush', () => flushes === 2);
      flushed.resolve();
      await Promise.all(later);

      expect(stored()).toEqual(['a', 'b', 'c']);
      expect(flushes).toBe(2);
    });

    it('does not close before the commit is answered', async () => {
      const group = startWithSlowDisk();
      const written = group.write(note('a'));
      await waitFor('the flush', () => flushes === 1);
      let isDrained = false;

      const drained = group.drain().then(() => {
        isDrained = true;
      });
      await nextTurn();
      expect(isDrained).toBe(false);
      flushed.resolve();

      await Promise.all([written, drained]);
    });

    it('reports success to no caller if the disk fails, and writes no more', async () => {
      const group = startWithSlowDisk();
      const written = group.write(note('a'));
      await waitFor('the flush', () => flushes === 1);
      const waiting = group.write(note('b'));

      flushed.reject(new Error('EIO'));

      await expect(written).rejects.toMatchObject(unavailable);
      await expect(waiting).rejects.toMatchObject(unavailable);
      await expect(group.write(note('c'))).rejects.toMatchObject(unavailable);
      expect(faults).toEqual([new Error('EIO')]);
      expect(await seenByReads()).toEqual([]);
      await group.drain();
    });
  });

  describe('on a full disk', () => {
    const limitPages = (extra: number) => {
      const pages = Number(db.pragma('page_count', { simple: true }));
      db.pragma(`max_page_count = ${pages + extra}`);
    };

    it('reports success to no caller in the group, and stores nothing of it', async () => {
      const group = start({ probeEveryMs: 60_000 });
      limitPages(1);

      const results = await Promise.allSettled([
        group.write(note('a')),
        group.write(() => fill(20)),
        group.write(note('b')),
      ]);

      for (const result of results) expect(result).toMatchObject({ reason: unavailable });
      expect(stored()).toEqual([]);
      await group.drain();
    });

    it('refuses writes until there is room, then resumes by itself', async () => {
      const group = start();
      limitPages(0);
      await expect(group.write(() => fill(20))).rejects.toMatchObject(unavailable);
      await expect(group.write(note('a'))).rejects.toMatchObject(unavailable);

      limitPages(1000);
      await waitFor('a write to be accepted', () =>
        group.write(note('b')).then(
          () => true,
          () => false,
        ),
      );

      expect(stored()).toContain('b');
      expect(stored()).not.toContain('a');
      expect(faults).toEqual([]);
    });

    it('keeps refusing while the probe finds no room', async () => {
      let probes = 0;
      const group = start({
        probeRoom: () => {
          probes += 1;
          fill(20);
        },
      });
      limitPages(0);
      await expect(group.write(() => fill(20))).rejects.toMatchObject(unavailable);

      await waitFor('some probes', () => probes >= 3);

      await expect(group.write(note('a'))).rejects.toMatchObject(unavailable);
      await group.drain();
    });
  });

  describe('while another process holds the lock', () => {
    it('waits without blocking the event loop, then commits', async () => {
      const group = start();
      other.exec('BEGIN IMMEDIATE');
      const write = group.write(note('a'));
      let turns = 0;
      const turn = setInterval(() => {
        turns += 1;
        if (turns === 20) other.exec('COMMIT');
      }, 1);

      await write;
      clearInterval(turn);

      expect(turns).toBeGreaterThanOrEqual(20);
      expect(stored()).toEqual(['a']);
    });

    it('gives up after its time-out, and works again when the lock is free', async () => {
      const group = start({ busyLimitMs: 50 });
      other.exec('BEGIN IMMEDIATE');

      await expect(group.write(note('a'))).rejects.toMatchObject(unavailable);
      other.exec('COMMIT');
      await group.write(note('b'));

      expect(stored()).toEqual(['b']);
    });

    it('gives each write its own time-out', async () => {
      const clock = movedClock();
      const group = start({ busyLimitMs: 300 });
      other.exec('BEGIN IMMEDIATE');
      const early = group.write(note('early'));
      clock.now += 200;
      const late = group.write(note('late'));
      clock.now += 100;

      await expect(early).rejects.toMatchObject(unavailable);
      other.exec('COMMIT');
      await late;

      expect(stored()).toEqual(['late']);
    });
  });

  it('reports a corrupt file once, and writes no more', async () => {
    for (let i = 0; i < 200; i += 1) fill(1);
    db.pragma('wal_checkpoint(TRUNCATE)');
    closeDatabase();
    const file = await open(path, 'r+');
    const { size } = await file.stat();
    for (let at = 4096 * 2; at < size; at += 4096)
      await file.write(Buffer.alloc(512, 0xff), 0, 512, at);
    await file.close();
    openDatabase();
    const group = start();
    const scan = () => db.prepare('SELECT count(*), max(length(text)) FROM notes').get();

    const results = await Promise.allSettled([group.write(scan), group.write(scan)]);

    for (const result of results) expect(result).toMatchObject({ reason: unavailable });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatchObject({ code: 'SQLITE_CORRUPT' });
    await expect(group.write(() => 1)).rejects.toMatchObject(unavailable);
    await group.drain();
  });

  it('reports a file that is no longer a database', async () => {
    for (const connection of [reader, other, db]) connection.close();
    writeFileSync(path, 'x'.repeat(8192));
    db = new Database(path, { timeout: 0 });
    const group = start();

    await expect(group.write(() => 1)).rejects.toMatchObject(unavailable);

    expect(faults).toMatchObject([{ code: 'SQLITE_NOTADB' }]);
  });
});

/** What `performance.now()` answers from now on: whole milliseconds, which add up without rounding. */
function movedClock(): { now: number } {
  const clock = { now: Math.ceil(performance.now()) };
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now);
  return clock;
}

/** Counts the turns of the event loop. */
function countTurns(): { readonly count: number; stop(): void } {
  let count = 0;
  const turn = () => {
    count += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  return {
    get count() {
      return count;
    },
    stop: () => clearImmediate(next),
  };
}
