import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { migrate } from '../../src/server/store/sqlite/engine/migrate.ts';
import { spine } from '../../src/server/store/sqlite/migrations/001-spine.ts';
import { fleets } from '../../src/server/store/sqlite/migrations/002-fleets.ts';
import { migrations } from '../../src/server/store/sqlite/migrations/migrations.ts';

const DAY = 24 * 3_600_000;

it('counts the tasks and anchors that were there before it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-migrate-'));
  const db = new Database(join(folder, 'svc.db'));
  try {
    migrate({ db, migrations: [spine, fleets], now: 1 });
    db.exec(`
      INSERT INTO accounts VALUES ('0xa', 8, '900', 0);
      INSERT INTO robots (id, wallet, name, created_at, updated_at) VALUES ('r', '0xa', 'arm', 0, 0);
      INSERT INTO tasks (id, robot_id, wallet, title, created_at, status) VALUES
        ('t1', 'r', '0xa', 'x', 0, 'verified'), ('t2', 'r', '0xa', 'x', 0, 'verified'),
        ('t3', 'r', '0xa', 'x', 0, 'verified'), ('t4', 'r', '0xa', 'x', 0, 'claimed');
      INSERT INTO ledger (wallet, kind, anchors, gas_wei, task_id, cycle, at) VALUES
        ('0xa', 'reserve', -1, '-100', 't1', 1, 5), ('0xa', 'settle', 0, '60', 't1', 1, 6),
        ('0xa', 'reserve', -1, '-100', 't2', 1, 5), ('0xa', 'release', 1, '100', 't2', 1, 6),
        ('0xa', 'reserve', -1, '-90${'0'.repeat(20)}', 't2', 2, 7), ('0xa', 'settle', 0, '0', 't2', 2, 8),
        ('0xa', 'reserve', -1, '-100', 't3', 1, 9), ('0xa', 'settle', 0, '99', 't3', 1, ${DAY});
    `);

    migrate({ db, migrations, now: 2 });

    expect(db.prepare('SELECT * FROM task_counts').all()).toEqual([
      { robot_id: 'r', claimed: 1, verified: 3 },
    ]);
    expect(db.prepare('SELECT * FROM anchor_days ORDER BY at').all()).toEqual([
      { scope: '0xa', at: 0, anchors: 2, gas_wei: `90${'0'.repeat(17)}040` },
      { scope: '0xa', at: DAY, anchors: 1, gas_wei: '1' },
    ]);
  } finally {
    db.close();
    await rm(folder, { recursive: true, force: true });
  }
});
