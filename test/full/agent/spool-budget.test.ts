import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SpoolRecord } from '../../../src/agent/spool/records.ts';
import type { Spool } from '../../../src/agent/spool/spool.ts';
import { hashProof } from '../../../src/proof/hash.ts';
import { createTemporarySpool, MIB } from '../../support/temporary-spool.ts';

const maxBytes = 32 * MIB;

/** What a sample takes beside its filler. */
const ROW_BYTES = 110;
/** In one commit. */
const GROUP_BYTES = 100_000;

let place: ReturnType<typeof createTemporarySpool>;
let spool: Spool;

beforeEach(() => {
  place = createTemporarySpool({ maxBytes });
});

afterEach(() => place.remove());

const samples = (count: number, fillerBytes = 0): SpoolRecord[] =>
  Array.from({ length: count }, (_, n) => {
    place.clock.advance(1000);
    return place.record('sample', { metrics: { n, filler: 'x'.repeat(fillerBytes) } });
  });

const bodiesIn = (opened: Spool) =>
  opened.read(({ samples: table }) => {
    const ends = table.ends();
    return ends === null ? [] : table.read({ firstSeq: ends.first, lastSeq: ends.last });
  });

/** Waits until what was handed over is committed. */
const committed = () => spool.update(() => {});

/** Hands over samples of about so many bytes, and answers the most that the disk held meanwhile. */
async function fill(bytes: number, fillerBytes: number): Promise<{ count: number; most: number }> {
  const each = fillerBytes + ROW_BYTES;
  const group = Math.ceil(GROUP_BYTES / each);
  const times = Math.ceil(bytes / (group * each));
  let most = 0;
  for (let i = 0; i < times; i++) {
    spool.recordSamples(samples(group, fillerBytes));
    await committed();
    most = Math.max(most, spool.bytesOnDisk());
  }
  return { count: group * times, most };
}

async function isKeptWithin(filler: number): Promise<void> {
  spool = place.open();
  const from = new Date(place.clock.now().wallMs + 1000).toISOString();

  const { count, most } = await fill(maxBytes * 1.25, filler);

  expect(most).toBeLessThan(maxBytes * 1.05);
  expect(most).toBeGreaterThan(maxBytes * 0.85);
  const left = spool.read(({ totals }) => totals.of('samples').count);
  await spool.reportDropped();
  const [event] = spool.read(({ events }) => events.read(1));
  const { event_type: type, payload } = JSON.parse(event?.body ?? '{}');
  expect([type, payload]).toEqual([
    'telemetry_dropped',
    { count: count - left, from, to: expect.any(String) },
  ]);
}

const keeping = 'is kept to within 5 % with samples of %s, and an event says how many went';
it.each([['16 KiB', 16_000]])(keeping, (_, filler) => isKeptWithin(filler));

// Many rows take seconds.
it.each([
  ['100 bytes', 0],
  ['1 KiB', 1000],
  ['4 KiB', 4000],
])(keeping, (_, filler) => isKeptWithin(filler));

it('deletes a damaged file before any sample', async () => {
  const aside = path.join(place.folder, 'spool.db.damaged-12');
  writeFileSync(aside, Buffer.alloc(20 * MIB));
  writeFileSync(`${aside}-wal`, Buffer.alloc(MIB));
  spool = place.open();
  expect(spool.damaged?.file).toBe(aside);
  expect(spool.room().capacity).toBeLessThan(11 * MIB);

  const before = await fill(4 * MIB, 1000);
  expect(existsSync(aside)).toBe(true);
  const after = await fill(10 * MIB, 1000);

  expect(Math.max(before.most, after.most)).toBeLessThan(maxBytes * 1.05);
  expect([existsSync(aside), existsSync(`${aside}-wal`), spool.damaged]).toEqual([
    false,
    false,
    null,
  ]);
  expect(spool.read(({ state }) => state.dropped())).toBeNull();
});

it('thins old samples before it drops any, and keeps the recent ones whole', async () => {
  spool = place.open();
  const all = samples(36_000, 1000);
  for (let i = 0; i < all.length; i += 200) {
    spool.recordSamples(all.slice(i, i + 200));
    await committed();
  }

  const times = bodiesIn(spool).map(({ wallMs }) => wallMs);
  const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  expect(times.length).toBeLessThan(36_000);
  expect(times[0]).toBeLessThan((all[0]?.wallMs ?? 0) + 10_000);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(8000);
  expect(gaps.slice(-3000).every((gap) => gap === 1000)).toBe(true);
});

it('continues a thinning after a restart', async () => {
  spool = place.open();
  spool.recordSamples(samples(5000));
  await committed();
  const first = await spool.update(({ samples: table }) => table.makeRoom());

  place.close(spool);
  spool = place.open();
  const second = await spool.update(({ samples: table }) => table.makeRoom());

  expect(first?.count).toBeGreaterThan(0);
  expect(second?.fromMs).toBeGreaterThan(first?.toMs ?? Number.POSITIVE_INFINITY);
});

it('restarts a thinning with samples that reuse the numbers of delivered ones', async () => {
  spool = place.open();
  spool.recordSamples(samples(5000));
  await committed();
  const first = await spool.update(({ samples: table }) => table.makeRoom());
  await spool.update(({ samples: table }) => {
    for (let batch = table.batchOldest(50); batch !== null; batch = table.batchOldest(50)) {
      table.remove(batch);
    }
  });
  const later = samples(5000);
  spool.recordSamples(later);
  await committed();

  const dropped = await spool.update(({ samples: table }) => table.makeRoom());

  expect(dropped).toMatchObject({ count: first?.count, fromMs: later[0]?.wallMs });
});

it('never drops samples in a batch', async () => {
  spool = place.open();
  spool.recordSamples(samples(50, 1000));
  const batch = await spool.update(({ samples: table }) => table.batchOldest(50));
  for (let i = 0; i < 400; i++) {
    spool.recordSamples(samples(100, 1000));
    await committed();
  }

  const kept = batch === null ? [] : spool.read(({ samples: table }) => table.read(batch));
  expect(kept).toHaveLength(50);
});

it('drops samples for a completion, and refuses a completion only if earlier ones fill the budget', async () => {
  spool = place.open();
  for (let i = 0; i < 400; i++) {
    spool.recordSamples(samples(100, 1000));
    await committed();
  }
  const evidence = 'y'.repeat(250 * 1024);
  const outcomes: string[] = [];
  while (outcomes.at(-1) !== 'full' && outcomes.length < 200) {
    const record = place.record('completion', { evidence });
    outcomes.push((await spool.complete(record, hashProof({ evidence }))).outcome);
  }

  expect(outcomes.at(-1)).toBe('full');
  expect(outcomes.length).toBeGreaterThan(100);
  expect(spool.bytesOnDisk()).toBeLessThan(maxBytes * 1.05);
  spool.recordSamples(samples(1));
  await committed();
  expect(bodiesIn(spool).map(({ body }) => JSON.parse(body).metrics.n)).toContain(0);
});
