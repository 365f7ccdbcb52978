import { randomUUID } from 'node:crypto';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { upgrades } from '../../src/agent/spool/schema.ts';
import type { Spool } from '../../src/agent/spool/spool.ts';
import { hashProof } from '../../src/proof/hash.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import { createTemporarySpool } from '../support/temporary-spool.ts';

let place: ReturnType<typeof createTemporarySpool>;
let spool: Spool;

beforeEach(() => {
  place = createTemporarySpool();
  spool = place.open();
});

afterEach(() => place.remove());

const proof = { picked: 12 };
const proofHash = hashProof(proof);
const refusal = { code: 'not_found', message: 'No static resource' };

const complete = (id: string, evidence = proof) =>
  spool.complete(place.record('completion', evidence, id), hashProof(evidence));

async function refuseTask(kind: 'claim' | 'completion', id: string): Promise<void> {
  const stored = kind === 'claim' ? spool.findClaim(id) : spool.findCompletion(id);
  if (stored === null) throw new Error(`no ${kind}`);
  await spool.refuseTask(stored, refusal);
}

async function setAsideAllKinds(id: string) {
  const [sample, event] = [place.record('sample', { state: 'idle' }), place.record('event', {})];
  await spool.claim(place.record('claim', { title: 'Pick' }, id));
  await complete(id);
  spool.recordSamples([sample]);
  spool.createEvent(event);
  await spool.update(() => {});
  place.clock.set(0);
  await refuseTask('claim', id);
  const batch = await spool.update(({ samples }) => samples.batchOldest(50));
  if (batch !== null) await spool.refuseSamples(batch, refusal);
  for (const one of spool.read(({ events }) => events.read(10)))
    await spool.refuseEvent(one, refusal);
  return { sample, event };
}

const refused = () => spool.read(({ settled }) => settled.refused(100));

it('queues every kind of record again, as it was accepted', async () => {
  const id = randomUUID();
  const { sample, event } = await setAsideAllKinds(id);
  expect(refused()).toHaveLength(4);
  const changed = vi.fn();
  spool.onChange(changed);

  expect(await spool.resendSetAside()).toBe(4);

  const [samples, events] = spool.read((tables) => [
    tables.samples.read({ firstSeq: 0, lastSeq: 10 }),
    tables.events.read(10),
  ]);
  expect(samples).toMatchObject([sample]);
  expect(events).toMatchObject([event]);
  expect(spool.read(({ tasks }) => tasks.uploads(10))).toEqual([{ kind: 'claim', id }]);
  expect(spool.findCompletion(id)).toMatchObject({ proofHash });
  expect(refused()).toEqual([]);
  expect(changed).toHaveBeenCalled();
  expect(await spool.resendSetAside()).toBe(0);
});

it.each(['{"metrics":{"t":1e400}}', '{"state":"a","state":"b"}', '{"state":'])(
  'does not queue a sample that is set aside because JSON parsers would change or refuse it: %s',
  async (body) => {
    spool.setAsideSample({ ...place.record('sample', {}), body }, refusal);
    spool.setAsideSample(place.record('sample', { state: 'idle' }), refusal);
    await spool.update(() => {});

    expect(await spool.resendSetAside()).toBe(1);

    expect(refused()).toMatchObject([{ body }]);
  },
);

it('queues more records than fit into one commit', async () => {
  const ids = Array.from({ length: 10 }, () => randomUUID());
  for (const id of ids) {
    await complete(id);
    await refuseTask('completion', id);
  }

  expect(await spool.resendSetAside()).toBe(10);

  const uploads = spool.read(({ tasks }) => tasks.uploads(100)).map(({ id }) => id);
  expect(uploads.sort()).toEqual(ids.sort());
});

it('queues the newest completion of a task, and none for a task that has its receipt', async () => {
  const [id, done] = [randomUUID(), randomUUID()];
  for (const evidence of [{ picked: 1 }, { picked: 2 }]) {
    await complete(id, evidence);
    await refuseTask('completion', id);
  }
  await complete(done);
  await refuseTask('completion', done);
  await complete(done);
  const verification = { status: 'verified' } as Verification; // The spool does not look into it.
  await spool.settle(done, { proofHash, verification });

  expect(await spool.resendSetAside()).toBe(1);

  expect(spool.findCompletion(id)).toMatchObject({ proofHash: hashProof({ picked: 2 }) });
  expect(refused().map((one) => [one.id, one.body])).toEqual([
    [id, '{"picked":1}'],
    [done, '{"picked":12}'],
  ]);
});

it('queues a completion for its own task again, together with its claim', async () => {
  const id = randomUUID();
  await setAsideAllKinds(id);

  expect(await spool.retargetCompletion(id, id)).toEqual({ proofHash });

  expect(spool.read(({ tasks }) => tasks.uploads(10))).toEqual([{ kind: 'claim', id }]);
  expect(refused().map(({ kind }) => kind)).toEqual(['sample', 'event']);
});

it('queues records that an earlier version set aside, with their wall time', async () => {
  const earlier = createTemporarySpool();
  const db = new Database(path.join(earlier.folder, 'spool.db'));
  for (const upgrade of upgrades.slice(0, 2)) db.exec(upgrade);
  const insert = db.prepare(
    'INSERT INTO refused (kind, id, code, message, wall_ms, body) VALUES (?, ?, ?, ?, ?, ?)',
  );
  for (const kind of ['sample', 'event', 'completion'])
    insert.run(kind, randomUUID(), 'Not Found', 'No static resource', 1_700_000_000_000, '{}');
  db.close();
  spool = earlier.open();

  expect(await spool.resendSetAside()).toBe(3);

  const [sample] = spool.read(({ samples }) => samples.read({ firstSeq: 0, lastSeq: 10 }));
  if (sample === undefined) throw new Error('no sample');
  expect(sample).toMatchObject({ wallMs: 1_700_000_000_000, body: '{}' });
  expect(spool.read(({ state }) => state.epochOf(sample.boot))).toBeNull();
  earlier.remove();
});
