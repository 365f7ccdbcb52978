import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import type { RateCount } from '../../../src/server/ports/sign-in.ts';
import { newWallet, type World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Instances, openInstances, spread } from './instances.ts';

let instances: Instances;
let world: World;
beforeEach(async () => {
  instances = await openInstances(3);
  world = instances.world;
});
afterEach(() => instances.close());

const allowed = (counts: readonly (RateCount | undefined)[]) =>
  counts.filter((count) => count?.allowed === true);

/** Each call that was let through left one fewer. */
function expectEachCountedOnce(counts: readonly (RateCount | undefined)[], limit: number) {
  const remaining = allowed(counts).map((count) => count?.remaining ?? 0);
  expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: limit }, (_, i) => i));
}

describe('three instances together allow exactly the limit', () => {
  it('of challenges of a wallet', async () => {
    const wallet = newWallet();

    const counted = await spread(instances, 300, (store) => store.countChallenge(wallet, null));

    const counts = counted.map(({ count }) => count);
    expectEachCountedOnce(counts, limits.challengesPerWindow);
  });

  it('of calls of a robot', async () => {
    const { keyHash } = await world.robot();

    const found = await spread(instances, 900, (store) => store.authenticateRobot(keyHash));

    const counts = found.map((robot) => robot?.count);
    expectEachCountedOnce(counts, limits.robotCallsPerWindow);
  });

  it('of mutations of an account, from any session', async () => {
    const challenge = await world.savedChallenge(newWallet());
    const session = world.session();
    await world.store.signIn(world.signIn(challenge, { session }));

    const found = await spread(instances, 450, (store) =>
      store.authenticateSession(session.tokenHash, true, world.now),
    );

    const counts = found.map((record) => record?.count);
    expectEachCountedOnce(counts, limits.accountMutationsPerWindow);
  });
});

it('does not count a call with an unknown key or token', async () => {
  await world.store.authenticateRobot('unknown');
  await world.store.authenticateSession('unknown', true, world.now);

  const { rows } = await instances.session.query('SELECT FROM rate_counters');
  expect(rows).toEqual([]);
});

it('deletes windows that are over', async () => {
  await spread(instances, 30, (store) => store.countChallenge(newWallet(), null));

  world.clock.advance(2 * limits.windowMs);
  await world.store.countChallenge(newWallet(), null);

  await waitFor('the old counters to be deleted', async () => {
    const { rowCount } = await instances.session.query('SELECT FROM rate_counters');
    return rowCount === 1;
  });
});

it('opens a window by the clock of the database, not of the instances', async () => {
  const own = await openInstances(2, { instant: () => null });
  try {
    const wallet = newWallet();
    const before = await own.session.query(
      'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now',
    );

    const { count } = await own.world.store.countChallenge(wallet, null);

    const { rows } = await own.session.query(
      'SELECT window_start, extract(epoch FROM clock_timestamp()) * 1000 AS now FROM rate_counters',
    );
    const start = Number(rows[0].window_start);
    expect(start % limits.windowMs).toBe(0);
    expect(start).toBeGreaterThan(Number(before.rows[0].now) - limits.windowMs);
    expect(start).toBeLessThanOrEqual(Number(rows[0].now));
    expect(count.resetMs).toBeGreaterThan(0);
    expect(count.resetMs).toBeLessThanOrEqual(limits.windowMs);
  } finally {
    await own.close();
  }
});
