import { receiptOf } from '../../support/one-robot.ts';
import { openSite, type PayingRobot } from './attacked-service.ts';
import {
  attackNames,
  type Latencies,
  measureCompletions,
  measureSamples,
  throughNginx,
  whileAttacked,
} from './campaign.ts';

export interface MixedReport {
  samples: Latencies[];
  completions: Latencies[];
  /** Resident memory of each instance at the end, in MB. */
  memory: number[];
  violations: string[];
}

const MOST_MEMORY_MB = 1024;

/** All attacks at once beside paying robots, at one instance on SQLite (0) or several on PostgreSQL. */
export async function runMixed(instances: number, seconds: number): Promise<MixedReport> {
  const site = await openSite(instances);
  try {
    const places = Array.from({ length: Math.max(1, instances) }, (_, i) => i);
    // One for samples and one for completions at each place: together they would exceed the limit of one robot.
    const robots: PayingRobot[] = [];
    const workers: PayingRobot[] = [];
    for (const place of places) {
      robots.push(await site.payingRobot(place));
      workers.push(await site.payingRobot(place));
    }
    const targets = await Promise.all(places.map((place) => site.target(place)));
    const sent = robots.map(() => 0);
    const tasks = robots.map((): string[] => []);
    const load = () =>
      Promise.all([
        Promise.all(
          robots.map(({ client }, i) =>
            measureSamples(client, seconds, (count) => {
              sent[i] = (sent[i] ?? 0) + count;
            }),
          ),
        ),
        Promise.all(
          workers.map(({ client }, i) =>
            measureCompletions(client, seconds, (id) => tasks[i]?.push(id)),
          ),
        ),
        site.memory(),
      ] as const);
    // Each attack surrounds the next; the load is inside of all.
    const names = attackNames.filter((name) => !throughNginx.includes(name));
    const work = names.reduce<typeof load>((inner, attack, i) => {
      const target = targets[i % targets.length];
      if (target === undefined) throw new Error('There is no instance');
      return () => whileAttacked(attack, target, inner);
    }, load);
    const [samples, completions] = await work();
    const memory = await site.memory();
    const violations: string[] = [];
    const failed = [...samples, ...completions].reduce((sum, one) => sum + one.failed, 0);
    if (failed > 0) violations.push(`${failed} calls of paying robots failed`);
    for (const [i, robot] of robots.entries()) {
      const stored = await countSamples(robot);
      if (stored < (sent[i] ?? 0)) violations.push(`${stored} of ${sent[i]} samples are stored`);
    }
    for (const [i, { client }] of workers.entries()) {
      for (const id of tasks[i] ?? []) await receiptOf(client, id);
    }
    if (memory.some((mb) => !(mb <= MOST_MEMORY_MB))) violations.push('memory is not bounded');
    violations.push(...(await site.endAndCheck()));
    return { samples, completions, memory, violations };
  } finally {
    await site.close();
  }
}

async function countSamples({ id, owner }: PayingRobot): Promise<number> {
  let stored = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: '200', ...(cursor && { cursor }) };
    const { body } = await owner.call('readTelemetry', { params: { id }, query });
    if (!('items' in body)) throw new Error('The answer is no page');
    stored += body.items.length;
    cursor = body.next_cursor;
  }
  return stored;
}
