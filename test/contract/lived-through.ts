import { v7 as uuid } from 'uuid';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { World } from './world.ts';

const HOUR = 3_600_000;

/**
 * Tasks that wait, are signed, settled, half settled and failed, some gone, samples and events, also in a fleet:
 * so that each rule has its rows.
 */
export async function liveThrough(world: World): Promise<void> {
  const lease = await world.lease();
  const gone = await world.robot();
  await world.queued(gone.id, 1);
  await world.settled(lease);
  await world.queued(gone.id, 1);
  await world.store.deleteRobot(gone.id, gone.wallet, world.now);
  await world.fleet(await world.account());
  await anchorAndReportInAFleet(world, lease);
  const robot = await world.robot();
  await world.queued(robot.id, 1);
  await world.settled(lease);
  await world.queued(robot.id, 3);
  await world.settled(lease);
  await world.queued(robot.id, 2);
  const half = await world.included(lease);
  await world.store.settleLeaves(lease, half.id, 1, world.now);
  await world.queued(robot.id, 2);
  const sent = await world.committed(lease);
  await world.replaced(lease, sent);
  await world.store.recordBroadcast(lease, sent.id, world.now);
  const [failed] = await world.queued(robot.id, 2);
  await world.store.refuseQueuedProofs(lease, [failed?.id ?? ''], 'no funds', world.now);
}

async function anchorAndReportInAFleet(world: World, lease: Lease): Promise<void> {
  const robot = await world.robot();
  const fleet = await world.fleet(robot.wallet);
  await world.store.patchRobot(robot.id, robot.wallet, { fleetId: fleet.id }, world.now);
  await world.queued(robot.id, 1);
  await world.settled(lease);
  const { id: robotId, keyHash } = robot;
  const samples = [0, 1, 2].map((hours) => ({
    id: uuid(),
    recordedAt: world.now - hours * HOUR,
    batteryPct: 50,
    state: 'idle',
    metrics: `{"t":${hours + 0.1}}`,
  }));
  await world.store.recordSamples({ robotId, keyHash, samples, now: world.now });
  await world.store.createEvent({
    id: uuid(),
    robotId,
    keyHash,
    eventType: 'x',
    severity: 'warn',
    message: '',
    payload: '{}',
    occurredAt: null,
    createdAt: world.now,
  });
}
