import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/server/store/postgres/open-store.ts';
import { anchorContract } from '../../contract/anchoring.contract.ts';
import { completionContract } from '../../contract/completions.contract.ts';
import { leaseContract } from '../../contract/leases.contract.ts';
import { lifecycleContract } from '../../contract/lifecycle.contract.ts';
import { settlementContract } from '../../contract/settlement.contract.ts';
import { failsWith, type OpenStore } from '../../contract/world.ts';
import { type Pooler, startPgBouncer } from '../../support/pooler.ts';
import { findProgram, needsProgram } from '../../support/require-program.ts';
import { copyDatabase, sharedPostgres } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { startTransactionPooler } from '../../support/transaction-pooler.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

behind('a pooler that gives each transaction another session', startTransactionPooler);

const pgbouncer = findProgram('pgbouncer');
if (pgbouncer === null) {
  it('the store behind PgBouncer', (context) => {
    needsProgram(context, 'pgbouncer');
  });
} else {
  behind('PgBouncer in transaction mode', (server) => startPgBouncer(pgbouncer, server));
}

/** Of the contract what waits, locks, offers and sets for a transaction: it would fail where it kept to a session. */
function behind(name: string, start: (server: string) => Promise<Pooler>): void {
  describe(`the store behind ${name}`, () => {
    let pooler: Pooler;
    let database: TemporaryDatabase;
    beforeAll(async () => {
      pooler = await start((await sharedPostgres()).url);
      database = await copyDatabase();
    });
    afterAll(async () => {
      await pooler.close();
      await database.drop();
    });
    const open: OpenStore = (clock, limits) =>
      openTemporaryPostgres(clock, { ...limits, pooler: true }, (url) => pooler.via(url));

    it('is refused settings that would affect all clients, unless the pooler is configured', async () => {
      const url = pooler.via(database.url);
      const options = { url, poolMax: 2, serves: true };

      await expect(openPostgresStore({ ...options, pooler: false })).rejects.toMatchObject({
        ...failsWith('database_unusable'),
        message: expect.stringContaining('unsupported startup parameter'),
      });

      const store = await openPostgresStore({ ...options, pooler: true });
      await store.probe();
      await store.close();
    });

    it('uses another session in the next transaction', async () => {
      const clients = [1, 2].map(
        () => new pg.Client({ connectionString: pooler.via(database.url) }),
      );
      await Promise.all(clients.map((client) => client.connect()));
      // At once, so that the pooler has two.
      await Promise.all(clients.map((client) => client.query('BEGIN')));
      await Promise.all(clients.map((client) => client.query('COMMIT')));

      const sessions = new Set<number>();
      for (let i = 0; i < 4; i += 1) {
        const answer = await clients[0]?.query('SELECT pg_backend_pid() AS pid');
        sessions.add(answer?.rows[0].pid);
      }

      expect(sessions.size).toBeGreaterThan(1);
      await Promise.all(clients.map((client) => client.end()));
    });

    describe('completions', () => completionContract(open));
    describe('leases', () => leaseContract(open));
    describe('anchoring', () => anchorContract(open));
    describe('settlement', () => settlementContract(open));
    describe('opening and closing', () => lifecycleContract(open));
  });
}
