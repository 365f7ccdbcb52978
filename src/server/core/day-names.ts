import { limits } from '../../protocol/limits.ts';

/** Names in the order in which they came, up to a limit; each has a number, from 0. */
class NameList {
  readonly #limit: number;
  readonly #numbers: Map<string, number>;

  constructor(limit: number, names: readonly string[]) {
    this.#limit = limit;
    this.#numbers = new Map(names.map((name, number) => [name, number]));
  }

  get names(): string[] {
    return [...this.#numbers.keys()];
  }

  get size(): number {
    return this.#numbers.size;
  }

  /** The number of the name, which it gets here where there is room; else undefined. */
  take(name: string): number | undefined {
    const known = this.#numbers.get(name);
    if (known !== undefined || this.size >= this.#limit) return known;
    this.#numbers.set(name, this.size);
    return this.size - 1;
  }
}

/**
 * The states and metrics that are told apart in one robot's day (UTC): the first `limits.seriesStates` and
 * `limits.seriesMetrics` of it. A name never loses its number, so that what is told of it counts all its
 * readings of the day.
 */
export interface DayNames {
  states: NameList;
  metrics: NameList;
}

/** Of a day as stored, by number; without it, of one that holds none yet. */
export interface StoredNames {
  states: string[];
  metrics: string[];
}

export const noNames: StoredNames = { states: [], metrics: [] };

export function dayNames({ states, metrics }: StoredNames): DayNames {
  return {
    states: new NameList(limits.seriesStates, states),
    metrics: new NameList(limits.seriesMetrics, metrics),
  };
}

/** What a summary takes of a sample: of `metrics` the numbers at the top level whose names are short. */
export interface SampleReadings {
  batteryPct: number | null;
  state: string | null;
  metrics: [name: string, reading: number][];
}

/** `metrics` is canonical JSON of an object. */
export function readingsOf(sample: {
  batteryPct: number | null;
  state: string | null;
  metrics: string;
}): SampleReadings {
  const { batteryPct, state } = sample;
  if (sample.metrics === '{}') return { batteryPct, state, metrics: [] };
  const members: Record<string, unknown> = JSON.parse(sample.metrics);
  const metrics: SampleReadings['metrics'] = [];
  for (const name of Object.keys(members)) {
    const value = members[name];
    if (typeof value === 'number' && isShort(name)) metrics.push([name, value]);
  }
  return { batteryPct, state, metrics };
}

/** By code points, of which each is one or two of what `length` counts. */
function isShort(name: string): boolean {
  const most = limits.seriesNameLength;
  return name.length <= most || (name.length <= 2 * most && [...name].length <= most);
}
