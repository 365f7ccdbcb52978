import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ReadSnapshot,
  readSnapshot,
} from '../../src/server/store/sqlite/engine/read-snapshot.ts';

describe('the reads of one turn of the event loop', () => {
  let folder: string;
  let writer: Database.Database;
  let reader: Database.Database;
  let snapshot: ReadSnapshot;
  let fatal: Error[];

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'svc-snapshot-'));
    writer = new Database(path.join(folder, 'svc.db'));
    writer.pragma('journal_mode = WAL');
    writer.exec('CREATE TABLE t (x)');
    reader = new Database(path.join(folder, 'svc.db'));
    fatal = [];
    snapshot = readSnapshot(reader, (error) => fatal.push(error));
  });

  afterEach(() => {
    writer.close();
    reader.close();
    rmSync(folder, { recursive: true });
  });

  function rows(): Promise<unknown> {
    return snapshot.read(() => reader.prepare('SELECT count(*) FROM t').pluck().get());
  }

  it('see one state, even if another process commits meanwhile', async () => {
    const before = await rows();
    writer.exec('INSERT INTO t VALUES (1)');
    expect(await rows()).toBe(before);
  });

  it('see the commits of others in the next turn', async () => {
    await rows();
    writer.exec('INSERT INTO t VALUES (1)');
    await nextTurn();
    expect(await rows()).toBe(1);
  });

  it('do not see a commit that is not durable, even in later turns', async () => {
    await rows();
    snapshot.hold();
    writer.exec('INSERT INTO t VALUES (1)');
    await nextTurn();
    expect(await rows()).toBe(0);
    await nextTurn();
    expect(await rows()).toBe(0);
  });

  it('see commits of others before a commit that is not durable', async () => {
    await rows();
    writer.exec('INSERT INTO t VALUES (1)');
    snapshot.hold();
    expect(await rows()).toBe(1);
  });

  it('see a commit as soon as it is durable', async () => {
    snapshot.hold();
    writer.exec('INSERT INTO t VALUES (1)');
    snapshot.leave();
    expect(await rows()).toBe(1);
  });

  it('do not prevent the log from being emptied', async () => {
    await rows();
    await nextTurn();
    expect(reader.inTransaction).toBe(false);
  });

  it('may be the last reads before the connection closes', async () => {
    await rows();
    reader.close();
    await nextTurn();
    expect(reader.open).toBe(false);
  });

  it('report a snapshot that cannot be ended, and end no process', async () => {
    await rows();
    // A connection that is busy with a query refuses its COMMIT, as one of a malformed database does.
    const busy = reader.prepare('VALUES (1), (2)').iterate();
    busy.next();

    await nextTurn();
    busy.return?.();

    expect(fatal).toMatchObject([{ message: expect.stringContaining('busy') }]);
  });
});
