// A histogram that looks up labels only once.
import type { Registry } from 'prom-client';

interface Labels {
  readonly [name: string]: string;
}

interface Histogram<L extends Labels> {
  /** Returns the counter for values with these labels. Keep it: every call creates a new one. */
  with(labels: L): (value: number) => void;
}

/**
 * The values of one set of labels. `counts[i]`: the number of values whose lowest bound is `i`; the last element counts
 * values above all bounds.
 */
interface Series {
  labels: Labels;
  counts: number[];
  sum: number;
}

/**
 * A histogram of `registry` that looks up labels once. prom-client's own builds a text from the labels for each value,
 * which takes a thirtieth of the time of a claim.
 */
export function histogram<L extends Labels>(
  registry: Registry,
  { name, help, bounds }: { name: string; help: string; bounds: readonly number[] },
): Histogram<L> {
  const all: Series[] = [];
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: all.flatMap((series) => valuesOf(name, bounds, series)),
  });
  // A registry only needs these members; its type allows only prom-client's own classes.
  const metric = { name, get } as unknown as Parameters<Registry['registerMetric']>[0];
  registry.registerMetric(metric);
  return {
    with(labels) {
      const series = { labels, counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
      all.push(series);
      return (value) => {
        let i = 0;
        while (i < bounds.length && value > (bounds[i] as number)) i += 1;
        series.counts[i] = (series.counts[i] as number) + 1;
        series.sum += value;
      };
    },
  };
}

function valuesOf(name: string, bounds: readonly number[], { labels, counts, sum }: Series) {
  let count = 0;
  const buckets = counts.map((more, i) => {
    count += more;
    const le = bounds[i] ?? '+Inf';
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
