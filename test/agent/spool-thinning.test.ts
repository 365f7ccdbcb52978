import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SampleTable } from '../../src/agent/spool/samples.ts';
import type { Spool } from '../../src/agent/spool/spool.ts';
import { createTemporarySpool } from '../support/temporary-spool.ts';

/** Samples this new, counted in records, are thinned last. */
const RECENT = 3600;

let place: ReturnType<typeof createTemporarySpool>;
let spool: Spool;

beforeEach(() => {
  place = createTemporarySpool();
  spool = place.open();
});

afterEach(() => place.remove());

const record = (count: number, filler = '') => {
  const records = Array.from({ length: count }, (_, n) => {
    place.clock.advance(1000);
    return place.record('sample', { metrics: { n, filler } });
  });
  spool.recordSamples(records);
  return records;
};
const change = <T>(work: (samples: SampleTable) => T) =>
  spool.update(({ samples }) => work(samples));
const numbers = () =>
  spool.read(({ samples }) =>
    samples.read({ firstSeq: 1, lastSeq: samples.ends()?.last ?? 0 }).map(({ seq }) => seq),
  );

it('keeps one old sample in 2, then in 4, then in 8, and then drops the oldest', async () => {
  const all = record(1400 + RECENT);
  const steps = await change((samples) => Array.from({ length: 11 }, () => samples.makeRoom()));

  const eighth = Array.from({ length: 1400 / 8 }, (_, n) => 8 * (n + 1));
  const recent = Array.from({ length: RECENT }, (_, n) => 1401 + n);
  expect(numbers()).toEqual([...eighth, ...recent]);
  expect(steps.reduce((sum, dropped) => sum + (dropped?.count ?? 0), 0)).toBe(1400 - 1400 / 8);
  expect(await change((samples) => samples.makeRoom())).toEqual({
    count: 64,
    fromMs: all[7]?.wallMs,
    toMs: all[511]?.wallMs,
  });
});

it('thins about 128 KiB at once', async () => {
  record(100, 'x'.repeat(10 * 1024));
  record(RECENT);

  const dropped = await change((samples) => samples.makeRoom());

  // Of 13 samples.
  expect(dropped?.count).toBe(7);
});

it('leaves a batch unchanged that begins at the end of a thinning', async () => {
  record(257);
  const batch = await change((samples) => samples.batchNewest(1));
  record(RECENT + 600);
  await change((samples) => samples.makeRoom());

  const dropped = await change((samples) => samples.makeRoom());

  expect(dropped?.count).toBe(128);
  if (batch === null) throw new Error('no batch');
  expect(spool.read(({ samples }) => samples.read(batch))).toHaveLength(1);
});

it('drops samples of waiting batches, except the newest, once all others are dropped', async () => {
  record(60);
  const first = await change((samples) => samples.batchOldest(50));
  const second = await change((samples) => samples.batchOldest(50));

  const steps = await change((samples) => Array.from({ length: 3 }, () => samples.makeRoom()));

  expect(steps.map((dropped) => dropped?.count)).toEqual([50, 9, undefined]);
  expect(numbers()).toEqual([60]);
  const batches = spool.read(({ samples }) => samples.batches());
  expect([first?.lastSeq, batches]).toEqual([50, [second]]);
});

it('puts only samples that have no batch into the next', async () => {
  record(10);
  await change((samples) => samples.batchNewest(5));
  record(2);

  const batch = await change((samples) => samples.batchNewest(5));

  expect(batch).toEqual({ firstSeq: 11, lastSeq: 12 });
});

it('knows when the oldest sample was accepted', async () => {
  expect(spool.read(({ samples }) => samples.oldestMs())).toBeNull();
  const [first] = record(3);
  await change(() => {});

  expect(spool.read(({ samples }) => samples.oldestMs())).toBe(first?.wallMs);
});
