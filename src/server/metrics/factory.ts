// Creates metrics in one registry.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type MetricFactory = ReturnType<typeof metricFactory>;

/** No label may contain an id. */
export function metricFactory(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
      new Gauge({ name, help, labelNames, registers }),
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: Label[] = [],
    ) => new Histogram({ name, help, labelNames, buckets, registers }),
  };
}
