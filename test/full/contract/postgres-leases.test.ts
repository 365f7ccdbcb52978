import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LEAD_MS, type Store } from '../../../src/server/ports/store.ts';
import { openPostgresStore } from '../../../src/server/store/postgres/open-store.ts';
import { chainId, failsWith, leaseMs, newWallet } from '../../contract/world.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

let database: TemporaryDatabase;
let stores: [Store, Store];
/** Null: the database's own clock, as between instances. */
let instant: number | null;

beforeEach(async () => {
  database = await emptyDatabase();
  instant = null;
  const { url } = database;
  const options = { url, poolMax: 4, pooler: false, serves: true, instant: () => instant };
  stores = await Promise.all([openPostgresStore(options), openPostgresStore(options)]);
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await database.drop();
});

it('goes to one of many concurrent callers on two instances', async () => {
  const sender = { chainId, address: newWallet() };

  const leases = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      stores[i % 2]?.acquireLease(sender, `holder ${i}`, leaseMs, Date.now()),
    ),
  );

  expect(leases.filter((lease) => lease !== null)).toHaveLength(1);
});

it('is not taken by an instance whose own clock is ahead', async () => {
  const [first, second] = stores;
  const sender = { chainId, address: newWallet() };
  await first.acquireLease(sender, 'a', leaseMs, Date.now());

  const ahead = await second.acquireLease(sender, 'b', leaseMs, Date.now() + 10 * leaseMs);

  expect(ahead).toBeNull();
});

it('is taken over once it has expired, and then calls of the previous holder are rejected', async () => {
  const [first, second] = stores;
  const sender = { chainId, address: newWallet() };
  const lost = await first.acquireLease(sender, 'a', 200, Date.now());
  if (lost === null) throw new Error('The lease was not held');

  const taken = await waitFor('the takeover', () =>
    second.acquireLease(sender, 'b', leaseMs, Date.now()),
  );

  expect(taken.fence).toBe(lost.fence + 1);
  await expect(first.renewLease(lost, leaseMs, Date.now())).rejects.toMatchObject(
    failsWith('lease_lost'),
  );
  await expect(first.releaseLease(lost)).rejects.toMatchObject(failsWith('lease_lost'));
  await second.renewLease(taken, leaseMs, Date.now());
});

describe('of a holder that announced its presence', () => {
  const sender = { chainId, address: newWallet() };
  let session: pg.Client;
  beforeEach(async () => {
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
    const [first] = stores;
    await waitFor('its presence', async () => {
      const lease = await first.acquireLease(sender, 'a', leaseMs, Date.now());
      const { rows } = await session.query('SELECT FROM leases WHERE presence IS NOT NULL');
      return lease !== null && rows.length === 1;
    });
  });
  afterEach(() => session.end());

  it('is taken over soon after the process of the holder ends', async () => {
    const [first, second] = stores;
    await first.close();

    const taken = await waitFor('the takeover', () =>
      second.acquireLease(sender, 'b', leaseMs, Date.now()),
    );

    expect(taken.fence).toBe(2);
  });

  it('stays if only the session is lost', async () => {
    const [, second] = stores;
    const presences = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await waitFor('both sessions', async () => (await session.query(presences)).rowCount === 2);
    const taken: unknown[] = [];
    await session.query(`SELECT pg_terminate_backend(pid) FROM (${presences}) AS listeners`);

    await waitFor('new sessions', async () => {
      taken.push(await second.acquireLease(sender, 'b', leaseMs, Date.now()));
      return (await session.query(presences)).rowCount === 2;
    });

    expect(taken).not.toContainEqual(expect.anything());
  });
});

it('does not affect the chain status once it has expired', async () => {
  const [first, second] = stores;
  instant = Date.now();
  const sender = { chainId, address: newWallet() };
  const lease = await first.acquireLease(sender, 'a', leaseMs, instant);
  if (lease === null) throw new Error('The lease was not held');
  await first.saveChainStatus(lease, { degraded: ['underfunded'], parked: 2, now: instant });
  expect(await second.getChainStatus()).toMatchObject({ degraded: ['underfunded'], parked: 2 });

  instant += leaseMs;

  expect(await second.getChainStatus()).toMatchObject({ degraded: [], parked: 0 });
});

it('is not given out while another instance holds the queue', async () => {
  const [first, second] = stores;
  for (let round = 0; round < 10; round += 1) {
    const senders = Array.from({ length: 4 }, () => ({ chainId, address: newWallet() }));

    const asked = senders.map((sender) => first.acquireLease(sender, 'a', leaseMs, Date.now()));
    // As they are on their way, some before and some after.
    await delay(round % 3);
    await second.holdQueue(Date.now());

    for (const lease of await Promise.all(asked)) {
      if (lease === null) continue;
      await expect(first.renewLease(lease, leaseMs, Date.now())).rejects.toMatchObject(
        failsWith('lease_lost'),
      );
    }
    await second.liftHold(senders, Date.now());
  }
});

it('of the leader goes to one instance, and to another once it has expired', async () => {
  instant = 1_000_000;

  const asked = await Promise.all(stores.map((store) => store.lead()));
  expect(asked.filter(Boolean)).toHaveLength(1);
  const [leader, other] = asked[0] ? stores : ([...stores].reverse() as typeof stores);
  instant += LEAD_MS - 1;
  expect(await other.lead()).toBe(false);
  expect(await leader.lead()).toBe(true);
  instant += LEAD_MS;
  expect(await other.lead()).toBe(true);
  expect(await leader.lead()).toBe(false);
});
