// What operators and tools do to the database file, under a running server and before a start.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Store } from '../../src/server/ports/store.ts';
import { backupDatabase } from '../../src/server/store/sqlite/files/backup.ts';
import {
  migrateDatabase,
  openSqliteStore,
  type SqliteStoreOptions,
} from '../../src/server/store/sqlite/open-store.ts';
import { copyEmptySqlite } from '../support/empty-sqlite.ts';
import { grant } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  /** What happens to the file. `file` is the path of the database. */
  happens(file: string): void;
}

const log = (file: string) => `${file}-wal`;
const shm = (file: string) => `${file}-shm`;

/** Each loses every write from there on, unless the server notices. */
const replaced: Row[] = [
  {
    name: 'a backup is moved over the database',
    report: 'of our own',
    happens(file) {
      backupDatabase(file, `${file}.bk`);
      renameSync(`${file}.bk`, file);
    },
  },
  { name: 'the database is removed', report: 'of our own', happens: (file) => rmSync(file) },
  {
    name: 'the database is set aside under another name',
    report: 'of our own',
    happens: (file) => renameSync(file, `${file}.old`),
  },
  {
    name: 'the log is removed',
    report: 'TriliumNext/Trilium 1835: the advice for a restore',
    happens: (file) => rmSync(log(file)),
  },
  {
    name: 'database, log and shared memory are removed',
    report: 'TriliumNext/Trilium 1835: the advice for a restore',
    happens(file) {
      for (const one of [file, log(file), shm(file)]) rmSync(one);
    },
  },
  {
    name: 'the log is replaced by an older copy',
    report: 'of our own',
    happens(file) {
      copyFileSync(log(file), `${file}.copy`);
      renameSync(`${file}.copy`, log(file));
    },
  },
  {
    name: 'the folder is renamed',
    report: 'of our own',
    happens: (file) => renameSync(path.dirname(file), `${path.dirname(file)}.old`),
  },
  {
    name: 'the folder is replaced by a copy of itself',
    report: 'of our own',
    happens(file) {
      const folder = path.dirname(file);
      cpSync(folder, `${folder}.copy`, { recursive: true });
      renameSync(folder, `${folder}.old`);
      renameSync(`${folder}.copy`, folder);
    },
  },
];

/** A server was killed and left its log. What SQLite would replay over the file, or delete, without a word. */
const foreign: Row[] = [
  {
    name: 'a backup was copied over the database',
    report: 'TriliumNext/Trilium 1835, vavallee/bindery 2337',
    happens: (file) => copyFileSync(`${file}.bk`, file),
  },
  {
    name: 'a backup was moved over the database',
    report: 'DeusData/codebase-memory-mcp 897',
    happens: (file) => renameSync(`${file}.bk`, file),
  },
  {
    name: 'a backup took the place, and the inode, of the removed database',
    report: 'of our own',
    happens(file) {
      rmSync(file);
      copyFileSync(`${file}.bk`, file);
    },
  },
  {
    name: 'the file of an earlier start was put back',
    report: 'of our own',
    happens: (file) => copyFileSync(`${file}.earlier`, file),
  },
  {
    name: 'a file that is no database took its place',
    report: 'of our own',
    happens: (file) => writeFileSync(file, 'not a database, but long enough to be taken for one'),
  },
  {
    name: 'the database was emptied',
    report: 'tursodatabase/turso 8103',
    happens: (file) => truncateSync(file),
  },
  {
    name: 'the database was removed and its log was not',
    report: 'tursodatabase/turso 8103',
    happens: (file) => rmSync(file),
  },
];

/** What is no mistake. */
const own: Row[] = [
  { name: 'nothing else happened', report: 'of our own', happens() {} },
  {
    name: 'the folder was copied to another disk',
    report: 'of our own',
    happens(file) {
      for (const one of [file, log(file), `${file}.identity`]) {
        copyFileSync(one, `${one}.copy`);
        rmSync(one);
        renameSync(`${one}.copy`, one);
      }
    },
  },
  {
    name: 'the log of a version that kept no record is there',
    report: 'of our own',
    happens: (file) => rmSync(`${file}.identity`),
  },
  {
    name: 'the log was moved away with the hint of the refusal, and a backup put in place',
    report: 'TriliumNext/Trilium 1835',
    happens(file) {
      renameSync(log(file), `${file}.log`);
      renameSync(`${file}.bk`, file);
    },
  },
];

const WALLET = '0x00000000000000000000000000000000000000aa';
let folder: string;
let file: string;
let warnings: string[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-database-file-'));
  file = path.join(folder, 'data', 'svc.db');
  await copyEmptySqlite(file);
  warnings = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function start(options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({
    path: file,
    clock: systemClock,
    serves: true,
    onWarning: (message) => warnings.push(message),
    onFatal: (error) => {
      throw error;
    },
    ...options,
  });
  onTestFinished(() => store.close());
  return store;
}

const quotaOf = async (store: Store) => (await store.getBalance(WALLET))?.anchorQuota;

/** As text, which is compared a thousand times as fast as a buffer. */
const contentOf = (at: string) => (existsSync(at) ? readFileSync(at, 'latin1') : null);

/** What is at the paths of the database and of its log, without the server. */
const atPaths = () => [file, log(file)].map(contentOf);

describe('a running server', () => {
  const refused = {
    code: 'storage_unavailable',
    message: 'The database file was replaced, moved or removed while the server was running.',
    hint: expect.stringContaining('Before you stop svc-server, save the old file'),
  };

  it.each(replaced)('refuses writes and keeps reading if $name', async ({ happens }) => {
    const store = await start();
    await grant(store, WALLET, 1, 0n);

    happens(file);
    const [database, logged] = atPaths();
    const first = await grant(store, WALLET, 10, 0n).catch((error) => error);
    const second = await grant(store, WALLET, 100, 0n).catch((error) => error);

    expect(first).toMatchObject(refused);
    expect(second).toMatchObject(refused);
    await expect(store.probe()).rejects.toMatchObject(refused);
    expect(await quotaOf(store)).toBe(1);
    expect(warnings).toEqual([expect.stringContaining('refusing writes')]);
    await store.close();
    expect(contentOf(file)).toBe(database);
    // The refused commit may follow in the log: it was made before the server looked.
    expect(contentOf(log(file))?.slice(0, logged?.length)).toBe(logged ?? undefined);
  });

  it('refuses writes if the link to the database leads to another file', async () => {
    const link = path.join(folder, 'link.db');
    symlinkSync(file, link);
    const store = await start({ path: link });
    await grant(store, WALLET, 1, 0n);

    rmSync(link);
    writeFileSync(path.join(folder, 'other.db'), '');
    symlinkSync(path.join(folder, 'other.db'), link);

    await expect(grant(store, WALLET, 10, 0n)).rejects.toMatchObject(refused);
  });

  it('refuses the writes of a command whose database is replaced', async () => {
    await (await start()).close();
    const command = await start({ serves: false });
    renameSync(file, `${file}.old`);

    await expect(grant(command, WALLET, 10, 0n)).rejects.toMatchObject(refused);
  });

  it.each([
    { name: 'while nothing happens', report: 'of our own', happens() {} },
    {
      name: 'after a folder next to it changed',
      report: 'of our own',
      happens: (at: string) => mkdirSync(`${at}.d`),
    },
    {
      name: 'after a backup was made',
      report: 'of our own',
      happens: (at: string) => backupDatabase(at, `${at}.bk`),
    },
    {
      name: 'after its log was checkpointed by another program',
      report: 'of our own',
      happens(at: string) {
        const other = new Database(at);
        other.pragma('wal_checkpoint(TRUNCATE)');
        other.close();
      },
    },
  ])('accepts writes $name', async ({ happens }) => {
    const store = await start();
    await grant(store, WALLET, 1, 0n);

    happens(file);
    await grant(store, WALLET, 10, 0n);

    expect(await quotaOf(store)).toBe(11);
    expect(warnings).toEqual([]);
  });

  it('disables the check if a file system reports a different inode each time', async () => {
    let calls = 0;
    const store = await start({
      identify: () => {
        calls += 1;
        return String(calls);
      },
    });

    await grant(store, WALLET, 1, 0n);

    expect(await quotaOf(store)).toBe(1);
    expect(warnings).toEqual([expect.stringContaining('not checking whether')]);
  });
});

describe('a start', () => {
  /** Leaves a killed server's files, with a grant that only the log has, next to a backup and an earlier file. */
  async function kill(): Promise<number> {
    const victim = path.join(folder, 'killed', 'svc.db');
    await copyEmptySqlite(victim);
    await (await start({ path: victim })).close();
    copyFileSync(victim, `${file}.earlier`);
    const store = await start({ path: victim });
    backupDatabase(victim, `${file}.bk`);
    let grants = 0;
    // The server empties its log once, soon after its start.
    await waitFor('a log', async () => {
      await grant(store, WALLET, 1, 0n);
      grants += 1;
      return statSync(log(victim)).size > 0;
    });
    for (const one of ['', '-wal', '.identity']) copyFileSync(`${victim}${one}`, `${file}${one}`);
    await store.close();
    return grants;
  }

  it.each(foreign)('refuses the log of another file if $name', async ({ happens }) => {
    await kill();
    happens(file);
    const found = atPaths();

    const refusal = {
      code: 'log_foreign',
      message: `The log ${file}-wal belongs to another file than ${file}.`,
      hint: expect.stringContaining('svc-server restore'),
    };
    await expect(start()).rejects.toMatchObject(refusal);
    // Again: the refusal has changed nothing.
    await expect(start()).rejects.toMatchObject(refusal);
    expect(atPaths()).toEqual(found);
    if (!existsSync(file)) return;
    await expect(start({ serves: false })).rejects.toMatchObject(refusal);
    expect(() => migrateDatabase(file, 7)).toThrow(refusal.message);
    expect(() => backupDatabase(file, `${file}.other`)).toThrow(refusal.message);
    expect(atPaths()).toEqual(found);
  });

  it.each(own)('uses the files if $name', async ({ happens }) => {
    const grants = await kill();
    happens(file);
    const expected = existsSync(log(file)) ? grants : undefined;

    const store = await start();

    expect(await quotaOf(store)).toBe(expected);
    await grant(store, WALLET, 1, 0n);
  });

  it('uses the log of a command that was killed after a backup took the place of a stopped database', async () => {
    const stopped = await start();
    await grant(stopped, WALLET, 1, 0n);
    backupDatabase(file, `${file}.bk`);
    await grant(stopped, WALLET, 1, 0n);
    await stopped.close();
    copyFileSync(`${file}.bk`, file);
    const command = await start({ serves: false });
    await grant(command, WALLET, 10, 0n);

    const killed = path.join(folder, 'killed', 'svc.db');
    mkdirSync(path.dirname(killed));
    for (const one of ['', '-wal', '.identity'].filter((suffix) => existsSync(file + suffix)))
      copyFileSync(file + one, killed + one);

    expect(await quotaOf(await start({ path: killed }))).toBe(11);
  });
});
