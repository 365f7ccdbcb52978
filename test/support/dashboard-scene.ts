import { randomUUID } from 'node:crypto';
import type { Client } from '../../src/client/client.ts';
import type { NewSample } from '../../src/protocol/telemetry.ts';
import type { Dashboard } from './dashboard.ts';

export interface Scene {
  fleets: { id: string; name: string }[];
  robots: { id: string; name: string; client: Client }[];
  /** Verified by an anchor, and only claimed. */
  verified: { id: string; proofHash: string; txHash: string };
  claimed: { id: string };
  evidence: object;
}

const MINUTE_MS = 60_000;

/** An account that has been at work: fleets, robots with an hour of telemetry and a gap in it, events, tasks. */
export async function arrangeScene(dashboard: Dashboard, owner: Client): Promise<Scene> {
  const fleets = await Promise.all(
    [
      {
        name: 'Hall North',
        location: 'Rotterdam',
        shift: '06:00–14:00',
        tags: ['picking', 'cold'],
      },
      { name: 'Yard', location: 'Antwerp', tags: ['outdoor'] },
    ].map(async (body) => (await owner.call('createFleet', { body })).body.fleet),
  );
  const robots = await Promise.all(
    ['picker-1', 'picker-2', 'hauler-7'].map(async (name) => {
      const { body } = await owner.call('createRobot', {
        body: { name, description: `${name} of the test` },
      });
      return { id: body.robot.id, name, client: dashboard.robotClient(String(body.api_key)) };
    }),
  );
  await owner.call('saveAlertRule', { body: { kind: 'battery_low', threshold: 20 } });
  const { webhook } = (
    await owner.call('createWebhook', {
      body: { url: 'https://ops.test/hook', events: ['alert.opened', 'task.failed'] },
    })
  ).body;
  await owner.call('testWebhook', { params: { id: webhook.id } });
  const [first, second, third] = robots;
  const [hall] = fleets;
  if (!first || !second || !third || !hall) throw new Error('The scene is not complete');
  await owner.call('assignRobots', {
    body: { robot_ids: [first.id, second.id], fleet_id: hall.id },
  });
  await first.client.call('recordSamples', { body: { samples: samplesWithGap(Date.now()) } });
  await second.client.call('recordSamples', { body: { battery_pct: 18, state: 'error' } });
  await second.client.call('createEvent', {
    body: {
      event_type: 'error',
      severity: 'error',
      message: 'Gripper lost the box',
      payload: { force_n: 3 },
    },
  });
  await first.client.call('createEvent', { body: { event_type: 'info', message: 'Shift began' } });
  // Differs in each scene. Test files may share a service, which would anchor the same evidence twice.
  const evidence = { picked: 12, photos: ['front.jpg'], run: randomUUID(), seconds: 481.5 };
  const task = await first.client.call('createTask', {
    body: {
      title: 'Pick order 4711',
      description: 'Twelve boxes from row C',
      expected_result: { picked: 12 },
    },
  });
  const completed = await first.client.call('completeTask', {
    params: { id: task.body.task.id },
    body: { proof: evidence },
  });
  if (completed.status !== 200) throw new Error('The completion was not anchored in time');
  const claimed = await second.client.call('createTask', { body: { title: 'Sweep aisle 9' } });
  const { proof_hash: proofHash, tx_hash: txHash } = completed.body.verification;
  return {
    fleets,
    robots,
    verified: { id: task.body.task.id, proofHash, txHash },
    claimed: { id: claimed.body.task.id },
    evidence,
  };
}

/** One a minute, none between 30 and 20 minutes before `now`. */
function samplesWithGap(now: number): NewSample[] {
  const minutes = Array.from({ length: 50 }, (_, i) => i).filter((i) => i < 20 || i >= 30);
  return minutes.map((ago) => ({
    recorded_at: new Date(now - ago * MINUTE_MS).toISOString(),
    battery_pct: 60 + ago / 2,
    state: ago < 15 ? 'busy' : 'charging',
    metrics: { motor_c: 40 + (ago % 7), load_kg: ago % 12 },
  }));
}
