import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { backupDatabase, restoreDatabase } from '../../src/server/store/sqlite/files/backup.ts';
import { migrateDatabase } from '../../src/server/store/sqlite/open-store.ts';
import { grant } from '../support/service.ts';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.ts';

const WALLET = '0x00000000000000000000000000000000000000aa';

describe('a backup', () => {
  let temporary: TemporarySqlite;
  let file: string;
  beforeEach(async () => {
    temporary = await openTemporarySqlite(systemClock);
    file = path.join(path.dirname(temporary.path), 'backup.db');
  });
  afterEach(() => temporary.close());

  const restore = (options: { force?: boolean; from?: string } = {}) =>
    restoreDatabase({
      databasePath: temporary.path,
      file: options.from ?? file,
      force: options.force ?? false,
      now: 7,
    });

  /** What would be thrown, by its code. */
  async function codeOf(work: () => unknown): Promise<string | null> {
    try {
      await work();
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  it('contains everything committed by a live server, readable by its owner only', async () => {
    await grant(temporary.store, WALLET, 5, 7n);

    const bytes = backupDatabase(temporary.path, file);

    expect(bytes).toBe(statSync(file).size);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const copy = new Database(file, { readonly: true });
    expect(copy.prepare('SELECT anchor_quota FROM accounts').pluck().get()).toBe(5);
    copy.close();
    expect(readdirSync(path.dirname(file)).filter((name) => /partial/.test(name))).toEqual([]);
  });

  it('overwrites nothing', async () => {
    writeFileSync(file, 'mine');

    expect(await codeOf(() => backupDatabase(temporary.path, file))).toBe('file_exists');
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  it('is refused as a restore while a server has the database', async () => {
    backupDatabase(temporary.path, file);

    expect(await codeOf(() => restore({ force: true }))).toBe('database_locked');
  });

  it('is refused as a restore over a database, unless that database is set aside', async () => {
    await grant(temporary.store, WALLET, 5, 7n);
    backupDatabase(temporary.path, file);
    await grant(temporary.store, WALLET, 1, 0n);
    await temporary.store.close();
    expect(await codeOf(() => restore())).toBe('database_exists');

    const aside = await restore({ force: true });

    const store = await temporary.reopen();
    expect((await store.getBalance(WALLET))?.anchorQuota).toBe(5);
    expect(await store.acquireLease({ chainId: 1, address: WALLET }, 'a', 1_000, 8)).toBeNull();
    expect(await store.checkInvariants()).toEqual([]);
    const before = new Database(aside ?? '', { readonly: true });
    expect(before.prepare('SELECT anchor_quota FROM accounts').pluck().get()).toBe(6);
    before.close();
  });

  it('is never combined with the write-ahead log of another database', async () => {
    backupDatabase(temporary.path, file);
    await temporary.store.close();
    writeFileSync(`${temporary.path}-wal`, 'what a crash left behind');

    await restore({ force: true });

    expect(existsSync(`${temporary.path}-wal`)).toBe(false);
  });

  it('is refused if it is truncated or of another program, and the database stays', async () => {
    backupDatabase(temporary.path, file);
    const foreign = path.join(path.dirname(file), 'foreign.db');
    const other = new Database(foreign);
    other.exec('CREATE TABLE things (id)');
    other.close();
    truncateSync(file, 8192);
    await temporary.store.close();
    const stored = readFileSync(temporary.path);

    expect(await codeOf(() => restore({ force: true, from: foreign }))).toBe('database_foreign');
    expect(await codeOf(() => restore({ force: true }))).not.toBeNull();
    expect(await codeOf(() => restore({ force: true, from: '/nowhere.db' }))).toBe('not_found');

    expect(readFileSync(temporary.path).equals(stored)).toBe(true);
  });

  it('may be a database that was set aside after a crash, with content that is only in its write-ahead log', async () => {
    await grant(temporary.store, WALLET, 5, 7n);
    const crashed = path.join(path.dirname(file), 'svc.db.replaced.1');
    for (const suffix of ['', '-wal']) copyFileSync(temporary.path + suffix, crashed + suffix);
    await temporary.store.close();

    await restore({ force: true, from: crashed });

    const store = await temporary.reopen();
    expect((await store.getBalance(WALLET))?.anchorQuota).toBe(5);
  });

  it('is refused as a restore if one of its indexes is damaged', async () => {
    await grant(temporary.store, WALLET, 5, 7n);
    backupDatabase(temporary.path, file);
    await temporary.store.close();
    const damaged = new Database(file);
    damaged.unsafeMode();
    damaged.exec(`
      CREATE TABLE damage (x TEXT);
      CREATE INDEX damage_x ON damage (x);
      INSERT INTO damage VALUES ('a');
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE INDEX damage_x ON damage (upper(x))' WHERE name = 'damage_x';
    `);
    damaged.close();

    expect(await codeOf(() => restore({ force: true }))).toBe('backup_failed');
  });

  it('leaves no copy behind if a restore was killed before it was ready', async () => {
    await temporary.store.close();
    const copies = ['.incoming', '.incoming-journal'].map((suffix) => {
      const copy = `${temporary.path}${suffix}`;
      writeFileSync(copy, 'evidence');
      return copy;
    });

    await temporary.reopen();

    expect(copies.filter(existsSync)).toEqual([]);
  });

  it('can be restored where no database exists', async () => {
    await grant(temporary.store, WALLET, 5, 7n);
    backupDatabase(temporary.path, file);
    const elsewhere = path.join(path.dirname(file), 'new', 'svc.db');

    const aside = await restoreDatabase({ databasePath: elsewhere, file, force: false, now: 7 });

    expect(aside).toBeNull();
    expect(statSync(elsewhere).size).toBeGreaterThan(0);
  });

  it('is migrated to the newest schema by migrate', async () => {
    await temporary.store.close();
    const schema = migrateDatabase(temporary.path, 7);

    expect(schema).toBeGreaterThanOrEqual(1);
    expect(await codeOf(() => migrateDatabase(`${temporary.path}.none`, 7))).toBe(
      'database_missing',
    );
  });
});
