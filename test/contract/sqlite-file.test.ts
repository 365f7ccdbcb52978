import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../src/server/ports/store.ts';
import {
  type Migration,
  migrate,
  requireSchema,
} from '../../src/server/store/sqlite/engine/migrate.ts';
import { backupDatabase } from '../../src/server/store/sqlite/files/backup.ts';
import { migrations } from '../../src/server/store/sqlite/migrations.ts';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';
import { createTestClock } from '../support/clock.ts';
import { oldRollup } from '../support/roll-ups-002.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { failsWith, newWallet, World } from './world.ts';

let folder: string;
let path: string;
const opened: Store[] = [];
const clock = createTestClock();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-file-'));
  path = join(folder, 'svc.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function open(serves: boolean): Promise<Store> {
  const store = await openSqliteStore({ path, clock, serves, onFatal: () => {} });
  opened.push(store);
  return store;
}

function edit(change: (db: Database.Database) => void): void {
  const db = new Database(path);
  change(db);
  db.close();
}

describe('the files of the database', () => {
  const modes = async () => {
    const names = (await readdir(folder)).sort();
    const found = await Promise.all(names.map((name) => stat(join(folder, name))));
    return names.map((name, i) => `${name} ${((found[i]?.mode ?? 0) & 0o777).toString(8)}`);
  };

  it('are private to their owner in a folder that others can read, whatever the umask', async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    await chmod(folder, 0o755);

    await open(true);
    backupDatabase(path, join(folder, 'backup'));

    expect(await modes()).toEqual([
      'backup 600',
      'svc.db 600',
      'svc.db-shm 600',
      'svc.db-wal 600',
      'svc.db.identity 600',
      'svc.db.lock 600',
      'svc.db.lock-journal 600',
    ]);
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
  });

  it('become private if an earlier version left them readable', async () => {
    await open(true);
    for (const name of await readdir(folder)) await chmod(join(folder, name), 0o644);

    await open(false);

    expect((await modes()).slice(0, 3)).toEqual(['svc.db 600', 'svc.db-shm 600', 'svc.db-wal 600']);
  });
});

describe('one server', () => {
  it('refuses a second one, without effect on the first', async () => {
    const first = await open(true);

    await expect(open(true)).rejects.toMatchObject({
      ...failsWith('database_locked'),
      message: expect.stringContaining('Another svc-server'),
      hint: expect.stringMatching(/--data-dir for svc-server dev, .*PostgreSQL/),
    });

    await first.probe();
  });

  it('releases the database when it closes', async () => {
    await (await open(true)).close();

    await (await open(true)).probe();
  });

  it('is detected by any path to its file', async () => {
    await open(true);
    await symlink(folder, `${folder}-link`);
    try {
      const elsewhere = join(`${folder}-link`, 'svc.db');
      await expect(
        openSqliteStore({ path: elsewhere, clock, serves: true, onFatal: () => {} }),
      ).rejects.toMatchObject(failsWith('database_locked'));
    } finally {
      await rm(`${folder}-link`);
    }
  });

  it('refuses a circular path of links', async () => {
    await symlink(join(folder, 'other'), path);
    await symlink(path, join(folder, 'other'));

    await expect(open(true)).rejects.toMatchObject({
      ...failsWith('database_unusable'),
      message: expect.stringContaining(path),
    });
  });

  it('ends the leases of the previous process', async () => {
    const sender = { chainId: 1, address: newWallet() };
    const first = await open(true);
    const lease = await first.acquireLease(sender, 'killed', 60_000, clock.now());
    await first.close();

    const next = await (await open(true)).acquireLease(sender, 'next', 60_000, clock.now());

    expect(next?.fence).toBeGreaterThan(lease?.fence ?? 0);
  });
});

describe('a command next to the server', () => {
  it('reads and writes while the server works', async () => {
    const server = await open(true);
    const command = await open(false);
    const grant = { wallet: newWallet(), anchors: 1, gasWei: 1n, note: '', now: clock.now() };

    await Promise.all(
      Array.from({ length: 20 }, (_, i) => [
        server.grantCredits({ ...grant, id: `server ${i}` }),
        command.grantCredits({ ...grant, id: `command ${i}` }),
      ]).flat(),
    );

    expect(await server.getBalance(grant.wallet)).toMatchObject({ anchorQuota: 40 });
    expect(await command.checkInvariants()).toEqual([]);
  });

  it('keeps the counters of the server when it closes', async () => {
    const server = await open(true);
    const wallet = newWallet();
    await server.countChallenge(wallet, null);
    await server.close();

    await (await open(false)).close();

    expect((await (await open(true)).countChallenge(wallet, null)).count).toMatchObject({
      remaining: 58,
    });
  });

  it('creates no database', async () => {
    await expect(open(false)).rejects.toMatchObject(failsWith('database_missing'));
    expect(await readdir(folder)).toEqual([]);
  });

  it('refuses an older schema, and does not migrate it', async () => {
    await (await open(true)).close();
    edit((db) => db.pragma('user_version = 0'));

    await expect(open(false)).rejects.toMatchObject(failsWith('schema_too_old'));
    edit((db) => expect(db.pragma('user_version', { simple: true })).toBe(0));
  });
});

describe.each([0x52545041, 0x52535643])('a database of a development version, id %i', (id) => {
  const development = {
    ...failsWith('schema_too_old'),
    message: 'The database was written by a development version, before the first release.',
    hint: expect.stringContaining('new database file'),
  };

  beforeEach(async () => {
    await (await open(true)).close();
    edit((db) => db.pragma(`application_id = ${id}`));
  });

  it('is refused by a server and not changed', async () => {
    const stored = await readFile(path);

    await expect(open(true)).rejects.toMatchObject(development);

    expect((await readFile(path)).equals(stored)).toBe(true);
  });

  it.each([
    ['check', () => []],
    ['migrate', () => []],
    ['backup', () => [join(folder, 'backup.db')]],
    ['restore', () => [path, '--force']],
    ['credits', () => ['show', newWallet()]],
    [
      'migrate-store',
      () => ['--from', `sqlite:${path}`, '--to', 'postgres://user@127.0.0.1:1/svc'],
    ],
  ])('is refused by svc-server %s', async (command, args) => {
    const { exitCode, stderr } = await runInProcess('svc-server', [command, ...args()], {
      env: { SVC_DATA_DIR: folder },
    });

    expect(stderr).toContain(development.message);
    expect(stderr).toContain('new database file');
    expect(exitCode).not.toBe(0);
    edit((db) => expect(db.pragma('application_id', { simple: true })).toBe(id));
  });
});

describe('a file', () => {
  it('of a newer schema is refused by server and command', async () => {
    await (await open(true)).close();
    edit((db) => db.pragma(`user_version = ${migrations.length + 1}`));

    await expect(open(true)).rejects.toMatchObject(failsWith('schema_too_new'));
    await expect(open(false)).rejects.toMatchObject(failsWith('schema_too_new'));
  });

  it('of another program is refused and not changed', async () => {
    edit((db) => db.exec('CREATE TABLE theirs (x)'));

    await expect(open(true)).rejects.toMatchObject(failsWith('database_foreign'));

    edit((db) => expect(db.prepare('SELECT name FROM sqlite_schema').all()).toHaveLength(1));
  });

  it('that is not a database is refused', async () => {
    await writeFile(path, 'not a database, but long enough to look like a file with content');

    await expect(open(true)).rejects.toMatchObject(failsWith('database_unusable'));
  });
});

describe('a migration', () => {
  const first = 'CREATE TABLE a (x TEXT) STRICT';
  const second = 'ALTER TABLE a ADD COLUMN y TEXT';

  function migrateTo(...steps: Migration[]): void {
    edit((db) => migrate({ db, migrations: steps, now: 7 }));
  }

  it('of an empty file takes no snapshot', async () => {
    migrateTo(first, second);

    expect(await readdir(folder)).toEqual(['svc.db']);
    edit((db) => requireSchema(db, [first, second]));
  });

  it('of the first schema keeps the bound chain, and takes the accepted time from the audit log', () => {
    const genesis = { chainId: 1, blockNumber: 0, blockHash: `0x${'ab'.repeat(32)}` };
    migrateTo(...migrations.slice(0, 1));
    edit((db) =>
      db.exec(`INSERT INTO chain_identity VALUES (1, 1, '${genesis.blockHash}');
        INSERT INTO audit_log VALUES ('a', 'w', 'sign_in', 'session', NULL, NULL, NULL, NULL, 1, 5000)`),
    );

    migrateTo(...migrations);

    edit((db) => {
      const identity = db.prepare(
        'SELECT chain_id AS chainId, block_number AS blockNumber, genesis_hash AS blockHash FROM chain_identity',
      );
      expect(identity.get()).toEqual(genesis);
      const checked = db.prepare('SELECT checked_at, confirmations FROM checked_time');
      expect(checked.get()).toEqual({ checked_at: 5000, confirmations: 0 });
    });
  });

  it('of the second schema decodes the roll-ups, each with the names of its day', () => {
    const { bytes, names, decoded } = oldRollup;
    const others = names.replace('busy', 'off');
    migrateTo(...migrations.slice(0, 2));
    edit((db) => {
      const insertNames = db.prepare(`INSERT INTO telemetry_names VALUES ('r', ?, ?)`);
      insertNames.run(-86_400_000, names);
      insertNames.run(0, others);
      const insert = db.prepare(`INSERT INTO telemetry_rollups VALUES ('r', ?, ?, 3, ?)`);
      insert.run('day', -86_400_000, bytes);
      insert.run('hour', 82_800_000, bytes);
      insert.run('minute', -60_000, bytes);
    });

    migrateTo(...migrations);

    const row = { robot_id: 'r', samples: 3, ...decoded };
    edit((db) => {
      expect(db.prepare('SELECT * FROM telemetry_rollups').all()).toEqual([
        { ...row, resolution: 'day', at: -86_400_000 },
        { ...row, resolution: 'hour', at: 82_800_000, states: row.states.replace('busy', 'off') },
        { ...row, resolution: 'minute', at: -60_000 },
      ]);
      const sums = db.prepare(
        'SELECT key, sum(value) AS samples FROM telemetry_rollups, json_each(states) GROUP BY key',
      );
      expect(sums.raw().all()).toEqual([
        ['__proto__', 3],
        ['busy', 4],
        ['off', 2],
      ]);
    });
  });

  it('of a database takes a snapshot first', async () => {
    migrateTo(first);
    edit((db) => db.exec(`INSERT INTO a VALUES ('kept')`));

    migrateTo(first, second);

    expect((await readdir(folder)).sort()).toEqual(['svc.db', 'svc.db.schema-1.7']);
    expect((await stat(join(folder, 'svc.db.schema-1.7'))).mode & 0o777).toBe(0o600);
    const snapshot = new Database(join(folder, 'svc.db.schema-1.7'));
    expect(snapshot.prepare('SELECT * FROM a').all()).toEqual([{ x: 'kept' }]);
    snapshot.close();
    edit((db) => expect(db.prepare('SELECT * FROM a').all()).toEqual([{ x: 'kept', y: null }]));
  });

  it('that fails keeps the previous schema', () => {
    migrateTo(first);

    expect(() => migrateTo(first, `${second}; SELECT nonsense`)).toThrow();

    edit((db) => {
      requireSchema(db, [first]);
      expect(db.prepare('SELECT * FROM a').columns()).toHaveLength(1);
    });
  });

  it('that is complete is not repeated', async () => {
    migrateTo(first);
    migrateTo(first);

    expect(await readdir(folder)).toEqual(['svc.db']);
  });
});

describe('the tables', () => {
  it('drop the oldest sessions first if an account has many more than allowed', async () => {
    const world = await World.open(openAt);
    const wallet = await world.account();
    edit((db) => {
      db.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 130)
         INSERT INTO sessions (id, token_hash, wallet, created_at, expires_at, signed_in_with)
         SELECT printf('%03d', i), i, ?, 0, 1000000000000000, 'wallet' FROM n`,
      ).run(wallet);
    });
    await world.store.signIn(world.signIn(await world.savedChallenge(wallet)));

    edit((db) => {
      expect(db.prepare('SELECT min(id) AS oldest FROM sessions').get()).toEqual({ oldest: '011' });
    });
    await world.close();
  });

  it('delete expired challenges and sessions as new ones arrive', async () => {
    const world = await World.open(openAt);
    const short = { expiresAt: world.now + 1 };
    const signIn = async (changes = {}) => {
      const session = world.session(changes);
      const challenge = await world.savedChallenge(newWallet(), changes);
      await world.store.signIn(world.signIn(challenge, { session }));
    };
    for (let i = 0; i < 15; i += 1) {
      await world.savedChallenge(newWallet(), short);
      await signIn(short);
    }
    world.clock.advance(1);
    clock.advance(1);

    for (let i = 0; i < 2; i += 1) await signIn();

    edit((db) => {
      expect(db.prepare('SELECT count(*) AS n FROM challenges').get()).toEqual({ n: 0 });
      expect(db.prepare('SELECT count(*) AS n FROM spent_challenges').get()).toEqual({ n: 2 });
      expect(db.prepare('SELECT count(*) AS n FROM sessions').get()).toEqual({ n: 2 });
    });
    await world.close();
  });

  it('refuse the id of a task that was deleted', async () => {
    const world = await World.open(openAt);
    const robot = await world.robot();
    const claim = world.newTask(robot.id, { idGiven: true });
    edit((db) => db.prepare('INSERT INTO tombstones VALUES (?, 0)').run(claim.id));

    expect(await world.store.createTask(claim)).toEqual({ outcome: 'id_conflict' });
    await world.close();
  });

  it('refuse the claim and the completion of a robot whose key has ended', async () => {
    const world = await World.open(openAt);
    const robot = await world.robot();
    const task = await world.task(robot.id);
    edit((db) => db.exec('UPDATE robots SET key_hash = NULL, key_hint = NULL'));

    const gone = { outcome: 'key_revoked' };
    expect(await world.store.createTask(world.newTask(robot.id))).toEqual(gone);
    expect(await world.store.queueCompletion(world.completion(task))).toEqual(gone);
    await world.close();
  });

  it.each(['UPDATE ledger SET anchors = 1', 'DELETE FROM ledger'])(
    'refuse changes to the ledger: %s',
    async (sql) => {
      const world = await World.open(openAt);
      await world.account();

      expect(() => edit((db) => db.exec(sql))).toThrow('append-only');
      await world.close();
    },
  );

  it('refuse changes to the audit log', async () => {
    const world = await World.open(openAt);
    const robot = await world.robot();
    const by = { actor: 'session', actor_name: null, source: null, at: world.now } as const;
    await world.store.replaceKey(robot.id, robot.wallet, null, world.now, by);
    await world.store.countFailedSignIn(robot.wallet, by);

    for (const change of ["kind = 'sign_in'", 'count = 1', "detail = 'x'"]) {
      const sql = `UPDATE audit_log SET ${change}`;
      expect(() => edit((db) => db.exec(sql))).toThrow('append-only');
    }
    await world.close();
  });

  async function openAt() {
    const store = await open(true);
    return { store, reopen: async () => store, close: () => store.close() };
  }
});
