import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Lease } from '../../../src/server/ports/anchoring.ts';
import { World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

/** Holds the commits that the trigger is in. */
const HELD = 4711;

let world: World;
let admin: pg.Client;
let lease: Lease;
let robotId: string;

beforeEach(async () => {
  let url = '';
  world = await World.open(async (clock) => {
    const opened = await openTemporaryPostgres(clock);
    ({ url } = opened);
    return opened;
  });
  admin = new pg.Client(url);
  await admin.connect();
  lease = await world.lease();
  ({ id: robotId } = await world.robot());
});
afterEach(async () => {
  await admin.query('DROP FUNCTION IF EXISTS hold_commit CASCADE');
  await admin.end();
  await world.close();
});

/** As a commit that waits for a synchronous standby: its rows are written and locked, and it has no answer. */
async function holdCommits(table: string): Promise<void> {
  await admin.query(`SELECT pg_advisory_lock(${HELD})`);
  await admin.query(`CREATE FUNCTION hold_commit() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_advisory_xact_lock(${HELD}); RETURN NULL; END $$`);
  await admin.query(`CREATE CONSTRAINT TRIGGER held AFTER INSERT ON ${table}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold_commit()`);
}

const waiting = (count: number) =>
  waitFor(`${count} sessions to wait for a lock`, async () => {
    const { rows } = await admin.query(`SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    return rows[0].count >= count;
  });

// A holder whose connection was lost goes on while its commit is under way.
it.each([
  ['an attempt', 'variants', (attempt: Attempt) => world.store.commitAttempt(lease, attempt)],
  ['leaves', 'leaves', (attempt: Attempt) => world.store.assignLeaves(lease, attempt, 2, 4)],
])('returns no leaf beside a commit of %s by the same holder', async (_of, table, commit) => {
  await world.queued(robotId, 5);
  const queued = await world.store.listQueuedProofs(lease, 10);
  const attempt = world.attempt(queued, { assigned: table === 'variants' ? 4 : 2 });
  for (let from = 0; from < attempt.assigned; from += 2) {
    await world.store.assignLeaves(lease, attempt, from, from + 2);
  }
  await holdCommits(table);
  const committing = commit(attempt);
  await waiting(1);
  const returning = world.store.returnLeaves(lease, 10, world.now);
  await waiting(2);
  await admin.query(`SELECT pg_advisory_unlock(${HELD})`);
  await Promise.all([committing, returning]);

  expect(await world.store.checkInvariants()).toEqual([]);
});

type Attempt = ReturnType<World['attempt']>;
