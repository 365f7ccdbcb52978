import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openWriter } from '../../src/server/store/sqlite/connections.ts';
import { migrate } from '../../src/server/store/sqlite/migrate.ts';
import { spine } from '../../src/server/store/sqlite/migrations/001-spine.ts';
import { fleets } from '../../src/server/store/sqlite/migrations/002-fleets.ts';
import { telemetry } from '../../src/server/store/sqlite/migrations/003-telemetry.ts';
import { account } from '../../src/server/store/sqlite/migrations/004-account.ts';
import { migrations } from '../../src/server/store/sqlite/migrations/migrations.ts';
import { openProof } from '../../src/server/store/sqlite/proof-cipher.ts';

it('seals the evidence that was there before it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-migrate-'));
  const path = join(folder, 'svc.db');
  const db = openWriter(path);
  const proofs = new Map([
    ['t1', '{"seen":"the visitor at gate 7"}'],
    ['t3', JSON.stringify({ seen: 'gâte 7 '.repeat(9_000) })],
  ]);
  try {
    migrate({ db, migrations: [spine, fleets, telemetry, account], now: 1 });
    db.exec(`
      INSERT INTO accounts VALUES ('0xa', 8, '900', 0);
      INSERT INTO robots (id, wallet, name, created_at, updated_at) VALUES ('r', '0xa', 'arm', 0, 0);
      INSERT INTO tasks (id, robot_id, wallet, title, created_at) VALUES
        ('t1', 'r', '0xa', 'x', 0), ('t2', 'r', '0xa', 'x', 0), ('t3', 'r', '0xa', 'x', 0);
      INSERT INTO proofs VALUES ('t2', 'erased', 6);
    `);
    for (const [id, proof] of proofs) {
      db.prepare('INSERT INTO proofs VALUES (?, ?, 7)').run(id, proof);
    }
    db.exec(`DELETE FROM proofs WHERE task_id = 't2'`);

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
    db.pragma('wal_checkpoint(TRUNCATE)');
    expect((await readFile(path)).includes('gate 7')).toBe(false);
  } finally {
    db.close();
    await rm(folder, { recursive: true, force: true });
  }
});
