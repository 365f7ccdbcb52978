import { Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { histogram } from '../../src/server/metrics/histogram.ts';

const name = 'svc_some_seconds';
const help = 'Some "time", \\ and\na second line';
const bounds = [0.0005, 0.1, 1, 30];

it('shows what the histogram of prom-client shows', async () => {
  const ours = new Registry();
  const theirs = new Registry();
  const mine = histogram<{ route: string; status: string }>(ours, { name, help, bounds });
  const labelNames = ['route', 'status'];
  const reference = new Histogram({ name, help, labelNames, buckets: bounds, registers: [theirs] });
  expect(await ours.metrics()).toBe(await theirs.metrics());

  for (const labels of [
    { route: 'claim', status: '201' },
    { route: 'a "b"\\\n', status: '500' },
  ]) {
    const observe = mine.with(labels);
    for (const seconds of [0, 0.0005, 0.000_500_1, 0.1, 0.2, 1, 29.9, 30, 30.1, 1e9]) {
      observe(seconds);
      reference.observe(labels, seconds);
    }
  }

  expect(await ours.metrics()).toBe(await theirs.metrics());
});
