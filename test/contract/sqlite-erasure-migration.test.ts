import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../src/server/ports/store.ts';
import { openProof } from '../../src/server/store/rows/evidence.ts';
import { openWriter, prepareToServe } from '../../src/server/store/sqlite/engine/connections.ts';
import { migrate } from '../../src/server/store/sqlite/engine/migrate.ts';
import { spine } from '../../src/server/store/sqlite/migrations/001-spine.ts';
import { fleets } from '../../src/server/store/sqlite/migrations/002-fleets.ts';
import { telemetry } from '../../src/server/store/sqlite/migrations/003-telemetry.ts';
import { account } from '../../src/server/store/sqlite/migrations/004-account.ts';
import { migrations } from '../../src/server/store/sqlite/migrations/migrations.ts';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';
import { createTestClock } from '../support/clock.ts';
import { waitFor } from '../support/wait-for.ts';
import { chainId, leaseMs, newWallet } from './world.ts';

const SEEN = 'the visitor at gate 7';
const clock = createTestClock();

let folder: string;
let path: string;
/** Of the schema before the erasure of evidence, as the version of that schema wrote it. */
let db: Database.Database;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-migrate-'));
  path = join(folder, 'svc.db');
  db = openWriter(path);
  db.pragma('secure_delete = OFF');
  migrate({ db, migrations: [spine, fleets, telemetry, account], now: 1 });
  db.exec(`
    INSERT INTO accounts VALUES ('0xa', 8, '900', 0);
    INSERT INTO robots (id, wallet, name, created_at, updated_at) VALUES ('r', '0xa', 'arm', 0, 0);
  `);
});
afterEach(async () => {
  db.close();
  await rm(folder, { recursive: true, force: true });
});

function handIn(id: string, proof: string): void {
  db.prepare(
    "INSERT INTO tasks (id, robot_id, wallet, title, created_at) VALUES (?, 'r', '0xa', 'x', 0)",
  ).run(id);
  db.prepare('INSERT INTO proofs VALUES (?, ?, 7)').run(id, proof);
}

/** Evidence that fills pages of its own and shares others, deleted without being overwritten. */
function handInAndDelete(): void {
  for (let i = 0; i < 40; i += 1) handIn(`t${i}`, SEEN.repeat(i % 2 === 0 ? 2_000 : 5));
  db.exec("DELETE FROM proofs WHERE task_id <> 't1'; UPDATE proofs SET proof = 'kept'");
}

/** A test that prints the file when it fails would print megabytes. */
async function isOnDisk(text: string, file = path): Promise<boolean> {
  const log = await readFile(`${file}-wal`).catch(() => Buffer.alloc(0));
  return Buffer.concat([await readFile(file), log]).includes(text);
}

async function withStore(work: (store: Store) => Promise<void>, file = path): Promise<void> {
  const store = await openSqliteStore({ path: file, clock, exclusive: true, onFatal: () => {} });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

it('seals the evidence that was there before it', async () => {
  const proofs = new Map([
    ['t1', `{"seen":"${SEEN}"}`],
    ['t3', JSON.stringify({ seen: 'gâte 7 '.repeat(9_000) })],
  ]);
  handIn('t2', 'erased');
  for (const [id, proof] of proofs) handIn(id, proof);
  db.exec(`DELETE FROM proofs WHERE task_id = 't2'`);
  db.close();

  db = openWriter(path);
  migrate({ db, migrations, now: 2 });

  const sealed = db
    .prepare<[], { task_id: string; sealed: Buffer; key: Buffer; stored_at: number }>(
      'SELECT task_id, sealed, key, stored_at FROM proofs JOIN proof_keys k ON k.id = key_id',
    )
    .all();
  expect(new Map(sealed.map((row) => [row.task_id, openProof(row.sealed, row.key)]))).toEqual(
    proofs,
  );
  expect(sealed.map((row) => row.stored_at)).toEqual([7, 7]);
  expect(await isOnDisk('gate 7')).toBe(false);
});

it('leaves nothing of the evidence that was deleted before it', async () => {
  handInAndDelete();
  db.close();
  expect(await isOnDisk(SEEN)).toBe(true);

  db = openWriter(path);
  migrate({ db, migrations, now: 2 });

  expect(await isOnDisk(SEEN)).toBe(false);
});

it('leaves nothing of it after a crash before the file was written either', async () => {
  handInAndDelete();
  db.close();
  db = openWriter(path);
  prepareToServe(db);
  const older = new Database(path, { readonly: true });
  older.exec('BEGIN');
  older.prepare('SELECT count(*) FROM proofs').get();
  migrate({ db, migrations, now: 2 });
  const crashed = join(folder, 'crashed.db');
  for (const suffix of ['', '-wal']) await cp(path + suffix, crashed + suffix);
  older.close();
  expect(await isOnDisk(SEEN, crashed)).toBe(true);

  await withStore(async () => {
    await waitFor('a clean file', async () => !(await isOnDisk(SEEN, crashed)));
  }, crashed);
});

it('leaves nothing of it where a migration failed the first time', async () => {
  handInAndDelete();
  db.close();
  db = openWriter(path);
  const failing = [...migrations.slice(0, -1), 'SELECT nonsense'];
  expect(() => migrate({ db, migrations: failing, now: 2 })).toThrow();

  migrate({ db, migrations, now: 3 });
  db.close();

  expect(await isOnDisk(SEEN)).toBe(false);
});

it.each([
  ['["restored"]', 'held'],
  ['["underfunded"]', 'free'],
])('keeps the queue of a database that shows %s %s', async (degraded, state) => {
  db.prepare('INSERT INTO chain_status (id, degraded, updated_at) VALUES (1, ?, 5)').run(degraded);
  db.close();

  await withStore(async (store) => {
    const sender = { chainId, address: newWallet() };
    const lease = await store.acquireLease(sender, 'a', leaseMs, clock.now());

    expect(lease === null ? 'held' : 'free').toBe(state);
  });
});
