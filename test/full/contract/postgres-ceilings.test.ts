import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import { newWallet, reservedWei, type World } from '../../contract/world.ts';
import { signupGrant } from '../../support/signup-grant.ts';
import { aggregate, type Instances, openInstances, spread } from './instances.ts';

let instances: Instances;
let world: World;
beforeEach(async () => {
  instances = await openInstances(2);
  world = instances.world;
});
afterEach(async () => {
  const violated = await world.store.checkInvariants();
  await instances.close();
  expect(violated).toEqual([]);
});

it('two instances together create no more robots than an account may have', async () => {
  const wallet = await world.account();
  await spread(instances, limits.robotsPerAccount - 3, (store) =>
    store.createRobot(world.newRobot(wallet)),
  );

  const created = await spread(instances, 20, (store) => store.createRobot(world.newRobot(wallet)));

  expect(aggregate(created)).toEqual({ created: 3, robot_limit_reached: 17 });
});

it('two instances together create no more fleets than an account may have', async () => {
  const wallet = await world.account();
  await spread(instances, limits.fleetsPerAccount - 3, (store) =>
    store.createFleet(world.newFleet(wallet)),
  );

  const created = await spread(instances, 20, (store) => store.createFleet(world.newFleet(wallet)));

  expect(aggregate(created)).toEqual({ created: 3, fleet_limit_reached: 17 });
  const fleets = await world.store.listFleets(wallet, 200, null);
  expect(new Set(fleets.map(({ sortOrder }) => sortOrder)).size).toBe(limits.fleetsPerAccount);
});

it('two instances together keep no more sessions of an account than it may have', async () => {
  const wallet = newWallet();
  const grant = signupGrant(1, 1n);
  await spread(instances, limits.sessionsPerAccount + 10, async (store) => {
    const challenge = world.challenge(wallet);
    return store.signIn(world.signIn(challenge, { grant }));
  });

  const sessions = await world.store.listSessions(wallet, world.now, 200, null);

  expect(sessions).toHaveLength(limits.sessionsPerAccount);
  expect((await world.store.getBalance(wallet))?.anchorQuota).toBe(1);
});

it('two instances together spend no more than an account has', async () => {
  await world.lease();
  const robot = await world.robot(await world.account(6, 3n * reservedWei));
  const tasks = await spread(instances, 12, () => world.task(robot.id));

  const queued = await spread(instances, 12, (store, i) =>
    store.queueCompletion(world.completion(tasks[i] ?? world.newTask(robot.id))),
  );

  expect(aggregate(queued)).toEqual({ queued: 3, no_gas_credit: 9 });
});

it('two instances together record a grant once', async () => {
  const wallet = newWallet();
  const grant = { id: uuid(), wallet, anchors: 5, gasWei: 7n, note: '', now: world.now };

  const grants = await spread(instances, 20, (store) => store.grantCredits(grant));

  expect(aggregate(grants)).toEqual({ granted: 1, repeated: 19 });
  expect(await world.store.getBalance(wallet)).toEqual({
    wallet,
    anchorQuota: 5,
    gasCreditWei: 7n,
  });
});
