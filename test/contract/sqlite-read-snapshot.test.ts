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

describe('the reads of a turn', () => {
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

  it('see one state, whatever another process commits meanwhile', async () => {
    const before = await rows();
    writer.exec('INSERT INTO t VALUES (1)');
    expect(await rows()).toBe(before);
  });

  it('see in the next turn what others committed', async () => {
    await rows();
    writer.exec('INSERT INTO t VALUES (1)');
    await nextTurn();
    expect(await rows()).toBe(1);
  });

  it('see nothing of a commit that is not durable, in later turns either', async () => {
    await rows();
    snapshot.hold();
    writer.exec('INSERT INTO t VALUES (1)');
    await nextTurn();
    expect(await rows()).toBe(0);
    await nextTurn();
    expect(await rows()).toBe(0);
  });

  it('see what others committed before a commit that is not durable', async () => {
    await rows();
    writer.exec('INSERT INTO t VALUES (1)');
    snapshot.hold();
    expect(await rows()).toBe(1);
  });

  it('see at once what has become durable', async () => {
    snapshot.hold();
    writer.exec('INSERT INTO t VALUES (1)');
    snapshot.leave();
    expect(await rows()).toBe(1);
  });

  it('leave nothing open that keeps the log from being emptied', async () => {
    await rows();
    await nextTurn();
    expect(reader.inTransaction).toBe(false);
  });

  it('may be the last before the connection closes', async () => {
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
