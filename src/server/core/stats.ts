// Statistics of an account's robots, tasks and anchors.
import { limits } from '../../protocol/limits.ts';
import type { Stats } from '../../protocol/telemetry.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { type StatsRecord, stepMs } from '../ports/telemetry.ts';
import { type Deps, found } from './deps.ts';

const HOURS = 24;
const DAYS = 30;
const BATTERY_BUCKETS = 10;

/** Statistics of the account or of one fleet. Throws `not_found`, also for a fleet of another account. */
export async function getStats({ store, clock }: Deps, wallet: string, fleetId: string | null) {
  const now = clock.now();
  const hours = lastIntervals(now, stepMs.hour, HOURS);
  const days = lastIntervals(now, stepMs.day, DAYS);
  const since = { hoursFrom: hours[0] ?? now, daysFrom: days[0] ?? now };
  const stats = found('fleet', await store.readStats({ wallet, fleetId }, since));
  const countsOfHour = new Map(stats.hours.map((counts) => [counts.at, counts]));
  const countsOfDay = new Map(stats.days.map((counts) => [counts.at, counts]));
  return {
    robots: viewRobots(stats.robots, now),
    battery: viewBattery(stats.robots),
    tasks: stats.tasks,
    anchors_by_day: days.map((at) => ({
      day: formatTimestamp(at).slice(0, 10),
      anchors: countsOfDay.get(at)?.anchors ?? 0,
      gas_wei: String(countsOfDay.get(at)?.gasWei ?? 0n),
    })),
    events_by_hour: hours.map((at) => ({
      at: formatTimestamp(at),
      ...(countsOfHour.get(at)?.events ?? { info: 0, warn: 0, error: 0 }),
    })),
    samples_by_hour: hours.map((at) => ({
      at: formatTimestamp(at),
      samples: countsOfHour.get(at)?.samples ?? 0,
    })),
  } satisfies Stats;
}

/** Start times of the last intervals, including the current one, oldest first. */
function lastIntervals(now: number, ms: number, count: number): number[] {
  const running = Math.floor(now / ms) * ms;
  return Array.from({ length: count }, (_, i) => running - (count - 1 - i) * ms);
}

function viewRobots(robots: StatsRecord['robots'], now: number): Stats['robots'] {
  const byState = new Map<string, number>();
  let online = 0;
  let withoutState = 0;
  for (const { state, lastSeenAt } of robots) {
    const isOnline = lastSeenAt !== null && lastSeenAt >= now - limits.onlineMs;
    if (isOnline) online += 1;
    const shown = isOnline || lastSeenAt === null ? state : 'offline';
    if (shown === null) withoutState += 1;
    else byState.set(shown, (byState.get(shown) ?? 0) + 1);
  }
  return {
    total: robots.length,
    online,
    by_state: Object.fromEntries(byState),
    without_state: withoutState,
  };
}

function viewBattery(robots: StatsRecord['robots']): Stats['battery'] {
  const buckets: number[] = Array(BATTERY_BUCKETS).fill(0);
  let unknown = 0;
  for (const { batteryPct } of robots) {
    if (batteryPct === null) unknown += 1;
    else {
      const bucket = Math.min(BATTERY_BUCKETS - 1, Math.floor(batteryPct / 10));
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
  }
  return { buckets, unknown };
}
