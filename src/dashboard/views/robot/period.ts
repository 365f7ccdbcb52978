// The period that the charts of a robot or a task show, in the address.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'wouter';
import type { Sample, Series } from '../../../protocol/telemetry.ts';
import { ask } from '../../api.ts';
import { pointOf, type ShownSeries, STEP_MS } from '../../charts/series.ts';
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
/** Above this, a period shows intervals instead of samples. */
const SAMPLES_MS = 15 * STEP_MS.minute;
/** Above this, the intervals are hours. */
const MINUTES_UP_TO_MS = 36 * STEP_MS.hour;
const SHORTEST_MS = 1000;
export const LONGEST_MS = 366 * STEP_MS.day;

interface Span {
  from: number;
  to: number;
}

export interface Period extends Span {
  /** Null for a period with a fixed end. */
  range: Range | null;
}

/**
 * The period, and how to choose another; null chooses `whole`, the default of a page without ranges up to now. Each
 * choice is an entry of the history, so that Back returns from a zoom.
 */
export function usePeriod(whole?: Span): [Period, (chosen: Range | Span | null) => void] {
  const [search, setSearch] = useSearchParams();
  const nextMinute = (Math.floor(useTenSeconds() / STEP_MS.minute) + 1) * STEP_MS.minute;
  const [from, to] = ['from', 'to'].map((name) => Date.parse(search.get(name) ?? ''));
  const named = search.get('range') ?? '';
  const byDefault = whole ? { range: null, ...whole } : rangeUntil(nextMinute, named);
  const period = fixedPeriod(from, to) ?? byDefault;
  const choose = (chosen: Range | Span | null) => {
    const next = new URLSearchParams(window.location.search);
    for (const name of ['range', 'from', 'to']) next.delete(name);
    if (typeof chosen === 'string') next.set('range', chosen);
    else if (chosen !== null) {
      next.set('from', new Date(chosen.from).toISOString());
      next.set('to', new Date(Math.max(chosen.to, chosen.from + SHORTEST_MS)).toISOString());
    }
    setSearch(next);
  };
  return [period, choose];
}

function fixedPeriod(from = Number.NaN, to = Number.NaN): Period | null {
  const isShown = to - from >= SHORTEST_MS && to - from <= LONGEST_MS;
  return isShown ? { range: null, from, to } : null;
}

function rangeUntil(to: number, named: string): Period {
  const range = Object.hasOwn(ranges, named) ? (named as Range) : '1 h';
  return { range, from: to - ranges[range], to };
}

function resolutionOf({ from, to }: Period): ShownSeries['resolution'] {
  if (to - from <= SAMPLES_MS) return 'sample';
  if (to - from <= MINUTES_UP_TO_MS) return 'minute';
  return to - from <= 31 * STEP_MS.day ? 'hour' : 'day';
}

/** Parts of a period that the service answers at once. They end at fixed times, so that most are read unchanged. */
function partsOf(period: Period): { from: string; to: string }[] {
  const length = resolutionOf(period) === 'minute' ? MINUTES_MS : Number.POSITIVE_INFINITY;
  const parts: { from: string; to: string }[] = [];
  for (let start = period.from; start < period.to; ) {
    const end = Math.min(period.to, (Math.floor(start / length) + 1) * length);
    parts.push({ from: new Date(start).toISOString(), to: new Date(end).toISOString() });
    start = end;
  }
  return parts;
}

const CALL = 'GET /api/v1/robots/:id/telemetry';

/** Samples are read this far beyond the period: the state at its start is that of the sample before. */
const BEYOND_MS = STEP_MS.minute;

/** A robot with more samples in a short period is shown by minute. */
const MOST_PAGES = 5;

/** The telemetry of a period. */
export function useSeries(robotId: string, period: Period) {
  const [from, to] = [period.from, period.to].map(isoOf) as [string, string];
  const params = { id: robotId };
  const read = async (signal: AbortSignal): Promise<ShownSeries> => {
    const resolution = resolutionOf(period);
    if (resolution === 'sample') {
      const samples = await readSamples(robotId, period, signal);
      if (samples !== null) return { resolution, from, to, points: samples.map(pointOf) };
    }
    const query = { resolution: resolution === 'sample' ? ('minute' as const) : resolution };
    const parts = await Promise.all(
      partsOf(period).map((part) => ask(CALL, { params, query: { ...part, ...query }, signal })),
    );
    // With a resolution the answer is a series.
    return { ...query, from, to, points: (parts as Series[]).flatMap(({ points }) => points) };
  };
  return useQuery({
    queryKey: ['telemetry', robotId, period.from, period.to],
    queryFn: ({ signal }) => read(signal),
    placeholderData: keepPreviousData,
  });
}

/** Oldest first; null if there are too many. */
async function readSamples(robotId: string, { from, to }: Span, signal: AbortSignal) {
  const samples: Sample[] = [];
  const query = { from: isoOf(from - BEYOND_MS), to: isoOf(to + BEYOND_MS), limit: '200' };
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const given = { ...query, ...(cursor !== null && { cursor }) };
    const answer = await ask(CALL, { params: { id: robotId }, query: given, signal });
    // Without a resolution the answer is a page.
    const { items, next_cursor } = answer as { items: Sample[]; next_cursor: string | null };
    samples.unshift(...items.toReversed());
    cursor = next_cursor;
    if (cursor === null) return samples;
  }
  return null;
}

const isoOf = (at: number) => new Date(at).toISOString();
