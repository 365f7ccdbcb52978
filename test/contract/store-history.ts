import { v7 as uuid } from 'uuid';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import { blockWith } from '../support/synthetic-block.ts';
import type { World } from './world.ts';

const HOUR = 3_600_000;

/**
 * Tasks that wait, are signed, settled, half settled, final and failed, some gone, samples and events, also in a fleet:
 * so that each rule has its rows.
 */
export async function writeHistory(world: World): Promise<void> {
  const lease = await world.lease();
  const gone = await world.robot();
  await world.queued(gone.id, 1);
  await world.settled(lease);
  await world.queued(gone.id, 1);
  await world.store.deleteRobot(gone.id, gone.wallet, world.now);
  await world.fleet(await world.account());
  await anchorAndReportInAFleet(world, lease);
  const robot = await world.robot();
  await finalize(world, lease, robot.id);
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
  await alert(world, robot);
  await world.store.failQueuedProofs(lease, [failed?.id ?? ''], 'no funds', world.now);
}

/** A webhook with a message, a rule, and an alert. */
async function alert(world: World, { id, wallet }: { id: string; wallet: string }): Promise<void> {
  const actor = { actor: 'session', actor_name: null, source: null, at: world.now } as const;
  const endpoint = {
    id: uuid(),
    wallet,
    url: 'https://ops.example.org',
    events: '["task.failed"]',
  };
  const secret = Buffer.alloc(60, 1);
  await world.store.createWebhook({ ...endpoint, secret, created_at: world.now }, actor);
  await world.store.testWebhook(endpoint.id, wallet, world.now);
  const rule = { kind: 'battery_low', threshold: 20 } as const;
  await world.store.saveAlertRule(wallet, rule);
  await world.store.noteEvaluation(world.now, 1);
  await world.store.changeAlerts([{ ...rule, wallet, robot_id: id }], [], world.now);
}

/** One anchor that is final and has a chain proof, and one that is due for it. */
async function finalize(world: World, lease: Lease, robotId: string): Promise<void> {
  for (const isProven of [true, false]) {
    await world.queued(robotId, 1);
    const attempt = await world.committed(lease);
    const { proof, ...place } = blockWith(attempt.variant.rawTx);
    await world.store.recordInclusion(lease, attempt.id, world.mined(attempt, place), world.now);
    await world.store.settleLeaves(lease, attempt.id, 1, world.now);
    const changes = { safe: [], finalized: [attempt.id], reorged: [] };
    await world.store.recordInclusionChanges(lease, changes, world.now);
    if (!isProven) continue;
    const [anchor] = await world.store.takeUnproven(1, { firstMs: 1, maxMs: 1 }, world.now);
    if (anchor !== undefined) await world.store.recordChainProof(anchor, proof);
  }
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
