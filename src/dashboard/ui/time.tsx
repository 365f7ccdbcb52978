// Times, ages, and how fresh data is.
import type { UseQueryResult } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { POLL_MS } from '../stream.ts';
import { formatTime } from './time-zone.ts';

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

/** Calls the listener every second. All components share one timer, however many rows a list has. */
function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const one of listeners) one();
    }, 1000);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

/** The current time in ms, updated every second. */
const useSeconds = () => useSyncExternalStore(subscribe, () => now);

/** The current time in ms, rounded down to ten seconds. */
export const useTenSeconds = () => useSyncExternalStore(subscribe, () => now - (now % 10_000));

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
    subscribe,
    () => isError || (dataUpdatedAt > 0 && now - dataUpdatedAt > STALE_MS),
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
