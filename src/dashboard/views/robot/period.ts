// The period that the charts of a robot show, in the address.
import { useSearchParams } from 'wouter';
import type { Resolution } from '../../../protocol/telemetry.ts';
import { STEP_MS } from '../../charts/series.ts';
import { useTenSeconds } from '../../ui/time.tsx';

/** Ranges up to now, in ms. */
export const ranges = {
  '1 h': STEP_MS.hour,
  '6 h': 6 * STEP_MS.hour,
  '24 h': STEP_MS.day,
  '7 d': 7 * STEP_MS.day,
  '30 d': 30 * STEP_MS.day,
} as const;

export type Range = keyof typeof ranges;

/** Most of a series by minute that one request answers, in ms. */
const MINUTES_MS = 6 * STEP_MS.hour;
const LONGEST_MS = 366 * STEP_MS.day;

export interface Period {
  /** Null for a period with a fixed end. */
  range: Range | null;
  from: number;
  to: number;
}

/** The period, and how to choose another. Each choice is an entry of the history, so that Back returns from a zoom. */
export function usePeriod(): [Period, (chosen: Range | { from: number; to: number }) => void] {
  const [search, setSearch] = useSearchParams();
  const nextMinute = Math.ceil(useTenSeconds() / STEP_MS.minute) * STEP_MS.minute;
  const [from, to] = ['from', 'to'].map((name) => Date.parse(search.get(name) ?? ''));
  const named = search.get('range') ?? '';
  const period = fixedPeriod(from, to) ?? rangeUntil(nextMinute, named);
  const choose = (chosen: Range | { from: number; to: number }) => {
    const next = new URLSearchParams(window.location.search);
    for (const name of ['range', 'from', 'to']) next.delete(name);
    if (typeof chosen === 'string') next.set('range', chosen);
    else {
      next.set('from', new Date(chosen.from).toISOString());
      next.set('to', new Date(chosen.to).toISOString());
    }
    setSearch(next);
  };
  return [period, choose];
}

function fixedPeriod(from = Number.NaN, to = Number.NaN): Period | null {
  const isShown = to - from >= STEP_MS.minute && to - from <= LONGEST_MS;
  return isShown ? { range: null, from, to } : null;
}

function rangeUntil(to: number, named: string): Period {
  const range = Object.hasOwn(ranges, named) ? (named as Range) : '1 h';
  return { range, from: to - ranges[range], to };
}

export function resolutionOf({ from, to }: Period): Resolution {
  if (to - from <= ranges['24 h']) return 'minute';
  return to - from <= 31 * STEP_MS.day ? 'hour' : 'day';
}

/** Parts of a period that the service answers at once. They end at fixed times, so that most are read unchanged. */
export function partsOf(period: Period): { from: string; to: string }[] {
  const length = resolutionOf(period) === 'minute' ? MINUTES_MS : Number.POSITIVE_INFINITY;
  const parts: { from: string; to: string }[] = [];
  for (let start = period.from; start < period.to; ) {
    const end = Math.min(period.to, (Math.floor(start / length) + 1) * length);
    parts.push({ from: new Date(start).toISOString(), to: new Date(end).toISOString() });
    start = end;
  }
  return parts;
}
