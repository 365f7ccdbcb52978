// Sums up what the robots of an account or a fleet did in a period.

import { startYielding } from '../../base/async/cooperative-yield.ts';
import { limits } from '../../protocol/limits.ts';
import type { Query } from '../../protocol/routes.ts';
import type { Report } from '../../protocol/telemetry.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type {
  ChargeRecord,
  ClaimRecord,
  ErrorRecord,
  Next,
  ReportedHour,
} from '../ports/report.ts';
import type { RobotRecord } from '../ports/robots.ts';
import { stepMs, type TimeRange } from '../ports/telemetry.ts';
import { happenedAt } from '../rules/events.ts';
import { type Deps, found } from './deps.ts';
import { seriesRange } from './telemetry.ts';

/** Length of a period without `from`. */
const USUAL_MS = 7 * stepMs.day;

/** Rows read at once, so that other requests are served in between. */
const READ_AT_ONCE = 250;

type EachRow = <Row>(
  read: (next: Next<Row>) => Promise<Row[]>,
  /** Returns false to stop. */
  use: (row: Row) => unknown,
) => Promise<void>;

/** Throws `not_found` for a fleet of another account, and `invalid_request` for a period that is empty or too long. */
export async function readReport(
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  wallet: string,
  { fleet_id: fleetId, ...period }: Query<'getReport'>,
): Promise<Report> {
  const hourEnd = (Math.floor(clock.now() / stepMs.hour) + 1) * stepMs.hour;
  const range = seriesRange({ ...period, resolution: 'hour' }, hourEnd - 1, USUAL_MS);
  if (fleetId !== undefined) found('fleet', await store.getFleet(fleetId, wallet));
  const all = await store.listRobots(wallet, limits.robotsPerAccount, null);
  const robots = all.filter((robot) => fleetId === undefined || robot.fleetId === fleetId);
  const members = new Set(robots.map(({ id }) => id));
  const isMember = (robotId: string | null) =>
    fleetId === undefined || (robotId !== null && members.has(robotId));
  const each = startReading();
  const errors = new Map<string, number>();
  const utilization: Report['robots'] = [];
  for (const robot of robots) {
    const hours = startHours(robot);
    await each(
      (next: Next<ReportedHour>) => store.listReportedHours(robot.id, range, next),
      hours.add,
    );
    utilization.push(hours.sum());
    await each(
      (next: Next<ErrorRecord>) => store.listErrors(robot.id, next),
      (event) => {
        if (isIn(range, happenedAt(event))) increase(errors, event.eventType);
        // None happened after it was received.
        return event.createdAt >= range.from;
      },
    );
  }
  const tasks: Report['tasks'] = [];
  for (const status of ['claimed', 'verified'] as const) {
    const counts = new Map<ClaimRecord['outcome'], number>();
    await each(
      (next: Next<ClaimRecord>) => store.listClaims({ wallet, status }, range, next),
      ({ robotId, outcome }) => {
        if (isMember(robotId)) increase(counts, outcome);
      },
    );
    for (const [outcome, count] of counts) tasks.push({ status, outcome, tasks: count });
  }
  let anchors = 0;
  let gasWei = 0n;
  await each(
    (next: Next<ChargeRecord>) => store.listCharges(wallet, range, next),
    ({ robotId, costWei }) => {
      if (!isMember(robotId)) return;
      anchors += 1;
      gasWei += costWei;
    },
  );
  return {
    from: formatTimestamp(range.from),
    to: formatTimestamp(range.to),
    hours: (range.to - range.from) / stepMs.hour,
    robots: utilization,
    errors: {
      total: [...errors.values()].reduce((sum, count) => sum + count, 0),
      by_type: most(errors, limits.reportEventTypes).map(([event_type, events]) => {
        return { event_type, events };
      }),
    },
    tasks,
    cost: {
      anchors,
      gas_wei: String(gasWei),
      gas_wei_per_anchor: anchors === 0 ? null : String(gasWei / BigInt(anchors)),
    },
  };
}

/** The report as rows of one table. */
export function reportRows({ robots, errors, tasks, cost, hours }: Report) {
  const others = { robot_id: null, robot: null, fleet_id: null };
  return [
    ...robots.flatMap(({ robot_id, name: robot, fleet_id, reported_hours, state_hours }) => {
      const row = { section: 'hours', robot_id, robot, fleet_id };
      const states = Object.entries(state_hours);
      return [
        ...states.map(([state, value]) => ({ ...row, name: `state ${state}`, value })),
        { ...row, name: 'reported', value: reported_hours },
        { ...row, name: 'not reported', value: hours - reported_hours },
      ];
    }),
    ...errors.by_type.map(({ event_type, events }) => {
      return { section: 'errors', ...others, name: event_type, value: events };
    }),
    ...tasks.map(({ status, outcome, tasks: value }) => {
      return { section: 'tasks', ...others, name: `${status} ${outcome ?? ''}`.trim(), value };
    }),
    ...Object.entries(cost).map(([name, value]) => {
      return { section: 'cost', ...others, name, value };
    }),
  ];
}

function startReading(): EachRow {
  const step = startYielding();
  return async (read, use) => {
    let rows = await read({ limit: READ_AT_ONCE, last: null });
    for (;;) {
      const isPast = rows.some((row) => use(row) === false);
      await step();
      if (isPast || rows.length < READ_AT_ONCE) return;
      rows = await read({ limit: READ_AT_ONCE, last: rows.at(-1) ?? null });
    }
  };
}

/** Sums up the hours of a robot. In each hour, a state has the share of the samples that state it. */
function startHours({ id, name, fleetId }: RobotRecord) {
  let reported = 0;
  const states = new Map<string, number>();
  return {
    add(hour: ReportedHour): void {
      reported += 1;
      for (const [state, samples] of hour.states) increase(states, state, samples / hour.samples);
    },
    sum: (): Report['robots'][number] => ({
      robot_id: id,
      name,
      fleet_id: fleetId,
      reported_hours: reported,
      state_hours: Object.fromEntries(
        most(states, limits.seriesStates).map(([state, hours]) => [state, round(hours)]),
      ),
    }),
  };
}

const isIn = ({ from, to }: TimeRange, at: number) => at >= from && at < to;

const round = (hours: number) => Math.round(hours * 1000) / 1000;

function increase<Key>(counts: Map<Key, number>, key: Key, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

/** The entries with the highest values, highest first. */
function most<Key>(counts: Map<Key, number>, count: number): [Key, number][] {
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, count);
}
