import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDatabase, PAGE_BYTES } from '../../src/agent/spool/database.ts';
import { Budget, DiskReserve } from '../../src/agent/spool/limits.ts';
import { MIB } from '../support/temporary-spool.ts';

/** What a text is taken to cost beside its bytes. */
const ROW_BYTES = 400;
/** For log, lock and reserve. */
const BESIDE_BYTES = 2.5 * MIB;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'svc-limits-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the budget', () => {
  let db: Database;

  beforeEach(() => {
    db = openDatabase(path.join(folder, 'spool.db'));
  });

  afterEach(() => db.close());

  const budgetFor = (freeBytes: number, asideBytes = 0) => {
    const used = new Budget(db, 0, () => 0).used();
    return new Budget(db, used + BESIDE_BYTES + asideBytes + freeBytes, () => asideBytes);
  };

  it('leaves room for the log, the lock, the reserve and the damaged file', () => {
    expect(new Budget(db, 64 * MIB, () => MIB).capacity).toBe(60.5 * MIB);
  });

  it('counts the pages of the file', () => {
    expect(new Budget(db, 0, () => 0).used()).toBe(
      Number(db.pragma('page_count', { simple: true })) * PAGE_BYTES,
    );
  });

  it.each([0, 100, PAGE_BYTES / 2])(
    'accepts a text of %i bytes if the text and its row fit',
    (bytes) => {
      expect(budgetFor(bytes + ROW_BYTES).hasRoomFor(bytes)).toBe(true);
      expect(budgetFor(bytes + ROW_BYTES, MIB).hasRoomFor(bytes)).toBe(true);
      expect(budgetFor(bytes + ROW_BYTES - 1).hasRoomFor(bytes)).toBe(false);
    },
  );

  it.each([PAGE_BYTES / 2 + 1, MIB])('counts a page more for a text of %i bytes', (bytes) => {
    expect(budgetFor(bytes + PAGE_BYTES + ROW_BYTES).hasRoomFor(bytes)).toBe(true);
    expect(budgetFor(bytes + PAGE_BYTES + ROW_BYTES - 1).hasRoomFor(bytes)).toBe(false);
  });

  it('keeps a tenth for telemetry', () => {
    const budget = new Budget(db, 10 * MIB + BESIDE_BYTES, () => 0);

    expect(budget.allowsTask(9 * MIB - ROW_BYTES - 100, 100)).toBe(true);
    expect(budget.allowsTask(9 * MIB - ROW_BYTES - 100, 101)).toBe(false);
  });

  it('counts the free pages of the file as room, except 128', () => {
    const budget = new Budget(db, 64 * MIB, () => 0);
    expect(budget.hasRoomInside(0)).toBe(false);
    db.exec('CREATE TABLE filler (bytes BLOB)');
    db.prepare('INSERT INTO filler VALUES (zeroblob(?))').run(MIB);
    db.exec('DELETE FROM filler');
    const spare = (Number(db.pragma('freelist_count', { simple: true })) - 128) * PAGE_BYTES;

    expect(budget.hasRoomInside(spare - PAGE_BYTES - ROW_BYTES)).toBe(true);
    expect(budget.hasRoomInside(spare - PAGE_BYTES - ROW_BYTES + 1)).toBe(false);
  });
});

describe('the reserve', () => {
  let file: string;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    file = path.join(folder, 'disk', 'reserve');
    mkdirSync(path.dirname(file));
  });

  afterEach(() => vi.useRealTimers());

  it('is a private file of 1 MiB', () => {
    const reserve = new DiskReserve(file);
    expect(reserve.bytes()).toBe(0);

    expect(reserve.hold()).toBe(true);

    expect(reserve.bytes()).toBe(MIB);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('of the previous run is kept', () => {
    writeFileSync(file, 'x'.repeat(MIB));

    expect(new DiskReserve(file).hold()).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('x'.repeat(MIB));
  });

  it('is rewritten if only a part of it was left', () => {
    writeFileSync(file, 'x'.repeat(MIB - 1));

    expect(new DiskReserve(file).hold()).toBe(true);
    expect(statSync(file).size).toBe(MIB);
  });

  it('is deleted when it is released, and written again a second later', () => {
    const reserve = new DiskReserve(file);
    reserve.hold();
    reserve.release();
    expect(reserve.bytes()).toBe(0);

    vi.advanceTimersByTime(999);
    expect(reserve.hold()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(reserve.hold()).toBe(true);
    expect(reserve.bytes()).toBe(MIB);
  });

  it('may be released when it does not exist', () => {
    const reserve = new DiskReserve(file);
    reserve.release();

    expect(reserve.hold()).toBe(false);
  });

  it('is retried once a second if it cannot be written', () => {
    rmSync(path.dirname(file), { recursive: true });
    const reserve = new DiskReserve(file);
    expect(reserve.hold()).toBe(false);

    mkdirSync(path.dirname(file));
    vi.advanceTimersByTime(999);
    expect(reserve.hold()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(reserve.hold()).toBe(true);
  });
});
