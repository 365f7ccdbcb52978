import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { migrate } from '../../src/server/store/sqlite/engine/migrate.ts';
import { migrations } from '../../src/server/store/sqlite/migrations/migrations.ts';

const BEFORE = 3;

it('dates evidence from the day it was handed in, and calls old sessions signed in by wallet', () => {
  const db = new Database(':memory:');
  db.pragma('foreign_keys = OFF');
  migrate({ db, migrations: migrations.slice(0, BEFORE), now: 1 });
  db.exec(`
    INSERT INTO completions (task_id, state, proof_hash, claim_hash, leaf, cycle, generation,
      reserve_seq, queued_at, updated_at)
      VALUES ('first', 'queued', '0x', '0x', '0x', 1, 0, 1, 111, 999),
        ('second', 'queued', '0x', '0x', '0x', 1, 0, 2, 222, 999);
    INSERT INTO proofs VALUES ('first', '{}'), ('second', '{}');
    INSERT INTO sessions VALUES ('session', 'hash', '0x1', 1, 2);
  `);

  migrate({ db, migrations, now: null });

  const dates = db.prepare('SELECT task_id, stored_at FROM proofs ORDER BY task_id').raw().all();
  const session = db.prepare('SELECT signed_in_with FROM sessions').pluck().get();
  db.close();
  expect(dates).toEqual([
    ['first', 111],
    ['second', 222],
  ]);
  expect(session).toBe('wallet');
});
