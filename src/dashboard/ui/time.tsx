// Times, ages, and how fresh data is.
import type { UseQueryResult } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { POLL_MS } from '../stream.ts';
import { formatTime } from './time-zone.ts';

/** One timer for all components that update at the same interval, however many rows a list has. */
function startTicker(everyMs: number) {
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let now = Date.now();
  const tick = () => {
    now = Date.now();
    for (const listener of listeners) listener();
  };
  return {
    now: () => now,
    subscribe(listener: () => void) {
      if (listeners.size === 0) {
        now = Date.now();
        timer = setInterval(tick, everyMs);
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) clearInterval(timer);
      };
    },
  };
}

const everySecond = startTicker(1000);
const everyTenSeconds = startTicker(10_000);

/** The current time in ms, updated every second. */
function useSeconds(): number {
  return useSyncExternalStore(everySecond.subscribe, everySecond.now);
}

/** The current time in ms, updated every ten seconds. */
export function useTenSeconds(): number {
  return useSyncExternalStore(everyTenSeconds.subscribe, everyTenSeconds.now);
}

const steps = [
  [1000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
  [30 * 86_400_000, 'month'],
  [365 * 86_400_000, 'year'],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const numerals = new Intl.RelativeTimeFormat('en', { style: 'short' });

/** `3 min. ago` */
function ago(at: number, now: number, format = relative): string {
  const past = at - now;
  const [ms, unit] = steps.findLast(([size]) => Math.abs(past) >= size) ?? steps[0];
  return format.format(Math.trunc(past / ms), unit);
}

/** `9 hr.` */
export function duration(ms: number): string {
  return ago(ms, 0, numerals).replace('in ', '');
}

/** `21 Nov 2026, 19:05:24 CET`: in the chosen time zone, which is named. */
export function dateAndTime(at: string | number): string {
  return formatTime(at, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  });
}

/** `16:38`, with the day if that is not today. */
export function clockTime(at: string): string {
  const day = { day: 'numeric', month: 'short' } as const;
  const isToday = formatTime(at, day) === formatTime(Date.now(), day);
  return formatTime(at, { ...(!isToday && day), hour: '2-digit', minute: '2-digit' });
}

/** How long ago, with the exact time as tooltip and for screen readers. */
export function Ago({ at }: { at: string }) {
  const now = useTenSeconds();
  return (
    <time dateTime={at} title={dateAndTime(at)}>
      {ago(Date.parse(at), Math.max(now, Date.parse(at)))}
    </time>
  );
}

/** Data older than this is marked as stale. */
const STALE_MS = 3 * POLL_MS;

type Watched = Pick<UseQueryResult, 'dataUpdatedAt' | 'isError'>;

/** Whether the data of a query is stale. Renders again only when that changes. */
export function useStale({ dataUpdatedAt, isError }: Watched): boolean {
  return useSyncExternalStore(
    everySecond.subscribe,
    () => isError || (dataUpdatedAt > 0 && everySecond.now() - dataUpdatedAt > STALE_MS),
  );
}

/** Shows the age of a query's data, marked if it is stale. `isPart`: another mark of the page suffices until then. */
export function Freshness({ query, isPart = false }: { query: Watched; isPart?: boolean }) {
  const now = useSeconds();
  const stale = useStale(query);
  if (query.dataUpdatedAt === 0 || (isPart && !stale)) return null;
  const age = ago(query.dataUpdatedAt, Math.max(now, query.dataUpdatedAt));
  return (
    <span className="freshness" data-stale={stale || undefined}>
      <span className="dot" aria-hidden />
      {stale ? `Out of date: updated ${age}` : `Updated ${age}`}
    </span>
  );
}
