import type { Client } from '../../src/client/client.ts';
import type { NewSample } from '../../src/protocol/telemetry.ts';
import type { Dashboard } from './dashboard.ts';

export interface Showcase {
  robots: { id: string; client: Client }[];
  /** Handed in and anchored, and only claimed. */
  verified: { id: string; proofHash: string; txHash: string };
  claimed: { id: string };
}

const MINUTE_MS = 60_000;
const LONG_NAME = 'Long-reach palletiser with the very long name that its operator gave it one day';

const fleets = [
  {
    name: 'Hall North',
    location: 'Rotterdam, Maasvlakte 2',
    shift: '06:00–14:00',
    tags: ['picking', 'cold chain', 'ISO 3691-4'],
    description: 'Order picking at 4 °C. Doors 1 to 14.',
  },
  { name: 'Yard', location: 'Antwerp, quay 869', shift: '24 h', tags: ['outdoor', 'towing'] },
  { name: 'Inspection', location: 'Hamburg', tags: ['thermal', 'drone'] },
  { name: 'Spare robots' },
];

const models = [
  { name: 'Picker', fleet: 0, count: 8 },
  { name: 'Hauler', fleet: 1, count: 5 },
  { name: 'Inspector', fleet: 2, count: 4 },
] as const;

const jobs = [
  'Pick order 4711 for dock 9',
  'Move pallet EUR-20991 to lane C',
  'Inspect weld seam 12 of tank 3',
  'Count stock in aisle 17',
  'Sweep loading bay 2',
  'Replace battery module of cart 6',
];

const news = [
  ['info', 'state_change', 'Shift began'],
  ['warn', 'temperature', 'Motor is at 71 °C, slowing down'],
  ['error', 'error', 'Gripper lost the box at row C, level 3; waiting for a person'],
  ['info', 'docked', 'Charging at dock 4'],
  ['warn', 'localisation', 'Position is uncertain by 0.4 m; driving at half speed'],
] as const;

/** An account after a working day: 18 robots, telemetry of a day with gaps, events, and tasks in every state. */
export async function arrangeShowcase(dashboard: Dashboard, owner: Client): Promise<Showcase> {
  const made = await Promise.all(fleets.map((body) => owner.call('createFleet', { body })));
  const plans = models.flatMap(({ name, fleet, count }) =>
    Array.from({ length: count }, (_, i) => ({
      name: `${name} ${String(i + 1).padStart(2, '0')}`,
      fleet_id: made[fleet]?.body.fleet.id ?? null,
    })),
  );
  const robots = await Promise.all(
    [...plans, { name: LONG_NAME, fleet_id: null }].map(async ({ name, fleet_id }) => {
      const { body } = await owner.call('createRobot', {
        body: { name, description: 'Serial 2024-118, firmware 5.2.1' },
      });
      const { id } = body.robot;
      await owner.call('patchRobot', { params: { id }, body: { fleet_id } });
      return { id, client: dashboard.robotClient(String(body.api_key)) };
    }),
  );
  await owner.call('createRobot', { body: { name: 'Not unpacked yet' } });
  for (const [kind, threshold] of [
    ['battery_low', 24],
    ['robot_offline', 15],
    ['robot_state', 1],
    ['error_event', 60],
  ] as const) {
    await owner.call('saveAlertRule', { body: { kind, threshold } });
  }
  await Promise.all(robots.map(({ client }, i) => work(client, i)));
  const tasks = await Promise.all(robots.slice(0, 12).map(({ client }, i) => anchor(client, i)));
  const claimed = await robots[3]?.client.call('createTask', {
    body: { title: `${jobs[2]}, from the north ladder to the manhole, with photographs`.repeat(2) },
  });
  const [first] = tasks;
  if (first === undefined || claimed === undefined) throw new Error('The showcase is not complete');
  return { robots, verified: first, claimed: { id: claimed.body.task.id } };
}

async function work(client: Client, robot: number): Promise<void> {
  const samples = dayOf(robot, Date.now());
  const parts = Array.from({ length: Math.ceil(samples.length / 50) }, (_, part) =>
    samples.slice(part * 50, (part + 1) * 50),
  );
  await Promise.all(parts.map((part) => client.call('recordSamples', { body: { samples: part } })));
  const told = news.filter((_, i) => (robot + i) % 3 === 0);
  for (const [severity, event_type, message] of told) {
    await client.call('createEvent', {
      body: { severity, event_type, message, payload: { x_m: 12.5 + robot, y_m: 3.25 } },
    });
  }
}

async function anchor(client: Client, i: number) {
  const { body } = await client.call('createTask', {
    body: {
      title: jobs[i % jobs.length] ?? '',
      description: 'Twelve boxes from row C to dock 9, none may be stacked.',
      expected_result: { boxes: 12, dock: 9, photographs: true },
      // As long ago as its evidence says.
      occurred_at: new Date(Date.now() - 481_500).toISOString(),
    },
  });
  const { id } = body.task;
  const evidence = {
    boxes: 12,
    dock: 9,
    seconds: 481.5 + i,
    photographs: ['sha256:a3f1…', 'sha256:b771…'],
    path: [
      { x_m: 12.5, y_m: 3.25 },
      { x_m: 40, y_m: 3.25 },
    ],
  };
  const completed = await client.call('completeTask', {
    params: { id },
    body: { proof: evidence },
  });
  if (completed.status !== 200) throw new Error('The completion was not anchored in time');
  const { proof_hash: proofHash, tx_hash: txHash } = completed.body.verification;
  return { id, proofHash, txHash };
}

/** Every minute for six hours, every ten before that; none in two stretches. Repeatable. */
function dayOf(robot: number, now: number): NewSample[] {
  const recent = Array.from({ length: 360 }, (_, i) => i);
  const earlier = Array.from({ length: 108 }, (_, i) => 360 + i * 10);
  return [...recent, ...earlier]
    .filter((ago) => !(ago > 25 && ago < 38) && !(ago > 190 && ago < 220))
    .map((ago) => {
      const phase = (ago + robot * 37) % 300;
      const charges = phase > 240;
      const battery = charges ? 20 + (300 - phase) * 1.2 : 20 + phase / 3.4;
      const state = charges ? 'charging' : phase % 90 < 70 ? 'busy' : 'idle';
      return {
        recorded_at: new Date(now - ago * MINUTE_MS).toISOString(),
        battery_pct: Math.round(battery * 10) / 10,
        state: robot === 5 && ago < 9 ? 'error' : state,
        metrics: {
          motor_c: 42 + 9 * Math.sin((ago + robot) / 21) + (ago % 5) / 2,
          load_kg: charges ? 0 : Math.max(0, 14 * Math.sin(ago / 9) + 6),
          speed_m_s: charges ? 0 : 1.1 + Math.sin(ago / 7) / 2,
          x_m: 20 * Math.sin(ago / 9 + robot),
          y_m: 8 * Math.sin(ago / 6),
        },
      };
    });
}
