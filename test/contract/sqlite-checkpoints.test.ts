import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Checkpoints, startCheckpoints } from '../../src/server/store/sqlite/checkpoints.ts';
import { openWriter, stopWaiting } from '../../src/server/store/sqlite/connections.ts';
import { faultKind } from '../../src/server/store/sqlite/faults.ts';
import { startLogPurge } from '../../src/server/store/sqlite/log-purge.ts';
import { turnSnapshot } from '../../src/server/store/sqlite/turn-snapshot.ts';
import { waitFor } from '../support/wait-for.ts';

let folder: string;
let file: string;
let db: Database;
let checkpoints: Checkpoints;
let fatal: Error[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-checkpoints-'));
  file = join(folder, 'svc.db');
  db = openWriter(file);
  stopWaiting(db);
  db.exec('CREATE TABLE filling (bytes BLOB)');
  fatal = [];
  checkpoints = startCheckpoints(db, (error) => fatal.push(error));
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

/** Of 4 KiB; nothing while the log begins anew. */
function write(pages: number): void {
  try {
    db.prepare('INSERT INTO filling VALUES (zeroblob(?))').run(pages * 4096);
  } catch (error) {
    if (faultKind(error) !== 'busy') throw error;
  }
  checkpoints.note();
}

describe('checkpoints', () => {
  it('write the log back without a commit that does it', async () => {
    write(2_000);
    expect(logPages().checkpointed).toBe(0);

    await waitFor('a checkpoint', () => logPages().checkpointed >= 2_000);
  });

  it('let the log begin anew after a pause', async () => {
    write(2_000);
    await waitFor('a checkpoint', () => logPages().checkpointed >= 2_000);
    // Its locks last a moment longer than its work.
    await checkpoints.rest();

    write(1);

    expect(logPages().log).toBeLessThan(100);
  });

  it('let a log begin anew that is written to without a pause', async () => {
    let before = 0;
    let pages = 0;

    do {
      before = pages;
      write(100);
      await nextTurn();
      pages = logPages().log;
    } while (pages >= before);

    expect(pages).toBeLessThan(before);
  });

  it('do not keep the log from being emptied', async () => {
    const log = startLogPurge({
      writer: db,
      checkpoints,
      snapshot: turnSnapshot(db),
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

  it('need an SQLite without the WAL-reset fault', () => {
    const { version } = db
      .prepare<[], { version: string }>('SELECT sqlite_version() AS version')
      .get() ?? {
      version: '',
    };

    const newer = version.localeCompare('3.51.3', 'en', { numeric: true });

    expect(newer).toBeGreaterThanOrEqual(0);
  });

  it('end with the connection that was last', async () => {
    write(2_000);
    await waitFor('a checkpoint', () => logPages().checkpointed >= 2_000);

    await checkpoints.stop();
    db.close();

    expect(existsSync(`${file}-wal`)).toBe(false);
  });
});
