import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sqliteErrorKind } from '../../../src/base/sqlite.ts';
import { Checkpoints } from '../../../src/server/store/sqlite/engine/checkpoints.ts';
import {
  openReader,
  openWriter,
  prepareToServe,
} from '../../../src/server/store/sqlite/engine/connections.ts';
import { openLogFile } from '../../../src/server/store/sqlite/engine/disk.ts';
import { GroupCommit } from '../../../src/server/store/sqlite/engine/group-commit.ts';
import { startLogPurge } from '../../../src/server/store/sqlite/engine/log-purge.ts';
import { readSnapshot } from '../../../src/server/store/sqlite/engine/read-snapshot.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: string;
let file: string;
let db: Database;
let checkpoints: Checkpoints;
let fatal: Error[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-checkpoints-'));
  file = join(folder, 'svc.db');
  db = openWriter(file);
  prepareToServe(db);
  db.exec('CREATE TABLE filling (bytes BLOB)');
  fatal = [];
  checkpoints = new Checkpoints(db, [], (error) => fatal.push(error));
});

afterEach(async () => {
  await checkpoints.stop();
  if (db.open) db.close();
  await rm(folder, { recursive: true });
  expect(fatal).toEqual([]);
});

function logPages(): { log: number; checkpointed: number } {
  const [pages] = db.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }];
  return pages;
}

/** Of 4 KiB; nothing while the log restarts. */
function write(pages: number): void {
  try {
    db.prepare('INSERT INTO filling VALUES (zeroblob(?))').run(pages * 4096);
  } catch (error) {
    if (sqliteErrorKind(error) !== 'busy') throw error;
  }
  checkpoints.note();
}

describe('checkpoints', () => {
  it('write the log back outside of commits', async () => {
    write(2_000);
    expect(logPages().checkpointed).toBe(0);

    await waitFor('a checkpoint', () => logPages().checkpointed >= 2_000);
  });

  it('are not made if the path leads to another file than the open one', async () => {
    await checkpoints.stop();
    checkpoints = new Checkpoints(db, [[file, 'of another file']], (error) => fatal.push(error));

    write(2_000);
    await waitFor('an attempt', () => checkpoints.underWay !== null);
    await checkpoints.underWay;

    expect(logPages().checkpointed).toBe(0);
  });

  it('let the log restart after a pause', async () => {
    write(2_000);
    await waitFor('a checkpoint', () => logPages().checkpointed >= 2_000);
    // Its locks last a moment longer than its work.
    await checkpoints.underWay;

    write(1);

    expect(logPages().log).toBeLessThan(100);
  });

  it('let a log restart that is written to without a pause, on a disk that flushes slowly', async () => {
    const reader = openReader(file);
    const log = openLogFile(db);
    const group = new GroupCommit({
      db,
      log: { flush: () => pause(10).then(log.flush), close: log.close },
      snapshot: readSnapshot(reader, (error) => fatal.push(error)),
      now: Date.now,
      beforeGroup: () => checkpoints.restart(),
      onCommit: () => checkpoints.note(),
      probeRoom: () => {},
      onFatal: (error) => fatal.push(error),
    });
    const fill = db.prepare('INSERT INTO filling VALUES (zeroblob(409600))');
    const sizes: number[] = [];
    const begunAnew = () => sizes.filter((pages, i) => pages < (sizes[i - 1] ?? 0)).length;
    const writeOn = async () => {
      while (begunAnew() < 3) {
        await group.write(() => fill.run());
        sizes.push(logPages().log);
      }
    };

    // What one waits for, others are queued behind: there is always a next group.
    await Promise.all([writeOn(), writeOn(), writeOn(), writeOn()]);
    await group.drain();
    reader.close();
    log.close();

    expect(begunAnew()).toBeGreaterThanOrEqual(3);
  });

  it('do not prevent the log from being emptied', async () => {
    const log = startLogPurge({
      writer: db,
      group: { committing: null },
      checkpoints,
      snapshot: readSnapshot(db, (error) => fatal.push(error)),
      onFatal: (error) => fatal.push(error),
    });
    for (let round = 0; round < 5; round += 1) {
      write(2_000);
      await waitFor('a checkpoint to begin', () => logPages().checkpointed > 0);
      write(2_000);
      await log.purge();
      expect(statSync(`${file}-wal`).size).toBe(0);
    }
    log.stop();
  });

  it('need an SQLite without the WAL-reset bug', () => {
    const { version } = db
      .prepare<[], { version: string }>('SELECT sqlite_version() AS version')
      .get() ?? {
      version: '',
    };

    const newer = version.localeCompare('3.51.3', 'en', { numeric: true });

    expect(newer).toBeGreaterThanOrEqual(0);
  });

  it('end with the last connection', async () => {
    write(2_000);
    await waitFor('a checkpoint', () => logPages().checkpointed >= 2_000);

    await checkpoints.stop();
    db.close();

    expect(existsSync(`${file}-wal`)).toBe(false);
  });
});
