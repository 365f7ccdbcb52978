import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Lease } from '../../../src/server/ports/anchoring.ts';
import type { Store } from '../../../src/server/ports/store.ts';
import { openPostgresStore } from '../../../src/server/store/postgres/open-store.ts';
import { chainId, failsWith, leaseMs, newWallet, randomHash, World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

/** An instance that had the lease, beside the world's own, which takes it over. */
let world: World;
let former: Store;
/** One holds locks, the other looks who waits for them. */
let session: pg.Client;
let watcher: pg.Client;
let lease: Lease;
let robotId: string;

beforeEach(async () => {
  let url = '';
  world = await World.open(async (clock) => {
    const opened = await openTemporaryPostgres(clock);
    ({ url } = opened);
    return opened;
  });
  const instant = () => world.now;
  former = await openPostgresStore({ url, poolMax: 20, pooler: false, serves: true, instant });
  session = new pg.Client({ connectionString: url });
  watcher = new pg.Client({ connectionString: url });
  await Promise.all([session.connect(), watcher.connect()]);
  lease = await world.lease(newWallet(), 'former');
  ({ id: robotId } = await world.robot());
});
afterEach(async () => {
  const violated = await world.store.checkInvariants();
  await Promise.all([session.end(), watcher.end()]);
  await former.close();
  await world.close();
  expect(violated).toEqual([]);
});

const waiting = (count: number) =>
  waitFor(`${count} statements to wait for a lock`, async () => {
    const { rowCount } = await watcher.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount === count;
  });

/** All that a holder may write, each of which would do something. */
async function everyWrite() {
  const { now } = world;
  await world.queued(robotId, 4);
  const mined = await world.included(lease, 1);
  const sent = await world.committed(lease, 1);
  const [first, second] = await world.store.listQueuedProofs(lease, 2);
  if (first === undefined || second === undefined) throw new Error('Two proofs wait');
  const next = world.attempt([first], { nonce: sent.nonce + 1 });
  const { variant } = sent;
  const inclusions = { safe: [mined.id], finalized: [], reorged: [] };
  return {
    listQueuedProofs: () => former.listQueuedProofs(lease, 5),
    failQueuedProofs: () => former.failQueuedProofs(lease, [second.taskId], 'x', now),
    commitAttempt: () => former.commitAttempt(lease, next),
    addVariant: () =>
      former.addVariant(lease, sent.id, world.variant(variant), variant.txHash, now),
    adoptVariant: () => former.adoptVariant(lease, sent.id, world.variant(variant), now),
    recordBroadcast: () => former.recordBroadcast(lease, sent.id, now),
    recordInclusion: () => former.recordInclusion(lease, sent.id, world.mined(sent), now),
    recordReplacedNonce: () => former.recordReplacedNonce(lease, sent.id, now),
    settleLeaves: () => former.settleLeaves(lease, mined.id, 1, now),
    recordInclusionChanges: () => former.recordInclusionChanges(lease, inclusions, now),
    saveChainStatus: () => former.saveChainStatus(lease, { degraded: ['x'], parked: 1, now }),
    renewLease: () => former.renewLease(lease, leaseMs, now),
    releaseLease: () => former.releaseLease(lease),
  };
}

/** What those writes would change. */
async function written(): Promise<unknown> {
  const tables = ['attempts', 'variants', 'leaves', 'completions', 'ledger', 'receipts', 'leases'];
  const rows: unknown[] = [];
  for (const table of tables) {
    rows.push((await session.query(`SELECT * FROM ${table} ORDER BY 1, 2`)).rows);
  }
  return rows;
}

it('rejects calls that wait while the lease is taken over', async () => {
  const calls = Object.entries(await everyWrite());
  await session.query('BEGIN');
  await session.query(`UPDATE leases SET holder = 'heir', fence = fence + 1`);
  const before = await written();

  const results = Promise.allSettled(calls.map(([, call]) => call()));
  await waiting(calls.length);
  await session.query('COMMIT');

  expect((await results).map((result, i) => [calls[i]?.[0], result])).toMatchObject(
    calls.map(([name]) => [name, { status: 'rejected', reason: failsWith('lease_lost') }]),
  );
  expect(await written()).toEqual(before);
});

it('accepts all waiting calls if the lease stays', async () => {
  const calls = Object.entries(await everyWrite());

  for (const [name, call] of calls.filter(([name]) => name !== 'recordReplacedNonce')) {
    const before = await written();
    world.clock.advance(1);
    await call();
    expect(await written(), name).not.toEqual(before);
  }
});

it('makes a takeover wait for a write in progress, and see it', async () => {
  await world.queued(robotId, 1);
  const proofs = await world.store.listQueuedProofs(lease, 1);
  const attempt = world.attempt(proofs);
  // It comes to a halt between its lease and its commit.
  await session.query('BEGIN');
  await session.query('SELECT FROM completions FOR UPDATE');
  const commit = former.commitAttempt(lease, attempt);
  await waiting(1);
  world.clock.advance(leaseMs);
  const { chainId, sender: address } = lease;
  const takeover = world.store.acquireLease({ chainId, address }, 'heir', leaseMs, world.now);
  await waiting(2);
  await session.query('ROLLBACK');

  await commit;
  const taken = await takeover;

  if (taken === null) throw new Error('The lease had run out');
  expect(taken.fence).toBe(lease.fence + 1);
  expect(await world.store.listOpenAttempts(taken)).toMatchObject([{ id: attempt.id }]);
  expect(await world.store.getNextNonce(taken)).toBe(attempt.nonce + 1);
});

it('makes the end of all leases wait for a write in progress as well', async () => {
  await world.queued(robotId, 1);
  const attempt = world.attempt(await world.store.listQueuedProofs(lease, 1));
  await session.query('BEGIN');
  await session.query('SELECT FROM completions FOR UPDATE');
  const commit = former.commitAttempt(lease, attempt);
  await waiting(1);
  const use = { nonce: attempt.nonce, txHash: randomHash() };
  const recorded = world.store
    .recordForeignNonces({ chainId, address: lease.sender }, [use], world.now)
    .catch((error: unknown) => error);
  await waiting(2);
  await session.query('ROLLBACK');

  await commit;

  expect(await recorded).toMatchObject(failsWith('nonce_conflict'));
});
