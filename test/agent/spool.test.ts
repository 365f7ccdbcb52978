import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SpoolRecord } from '../../src/agent/spool/records.ts';
import type { Batch } from '../../src/agent/spool/samples.ts';
import type { Spool } from '../../src/agent/spool/spool.ts';
import { hashProof } from '../../src/proof/hash.ts';
import type { Task, Verification } from '../../src/protocol/resources.ts';
import { createTemporarySpool } from '../support/temporary-spool.ts';
import { waitFor } from '../support/wait-for.ts';

let place: ReturnType<typeof createTemporarySpool>;
let spool: Spool;

beforeEach(() => {
  place = createTemporarySpool();
  spool = place.open();
});

afterEach(() => place.remove());

const proof = { picked: 12 };
const proofHash = hashProof(proof);
const completionOf = (taskId: string, content: object = proof) =>
  place.record('completion', content, taskId);

const receiptOf = (taskId: string): Verification => ({
  format: 'svc-receipt/1',
  task_id: taskId,
  robot_id: '01a1fa88-625b-75cb-b0f4-68b936962d71',
  status: 'verified',
  proof_hash: proofHash,
  tx_hash: `0x${'1'.repeat(64)}`,
  block_number: '12',
  anchored_at: '2026-01-15T12:00:00.000Z',
  explorer_url: 'https://explorer.test/tx/1',
  chain_id: 31337,
  claim_hash: `0x${'2'.repeat(64)}`,
  inclusion: null,
  finality: 'included',
});

const taskOf = (id: string): Task => ({
  id,
  title: 'Pick',
  description: null,
  status: 'claimed',
  created_at: '2026-01-15T12:00:00.000Z',
});

const samples = (count: number, filler = ''): SpoolRecord[] =>
  Array.from({ length: count }, (_, n) => {
    place.clock.advance(1000);
    return place.record('sample', { metrics: { n, filler } });
  });

const bodiesIn = (opened: Spool) =>
  opened.read(({ samples: table }) => {
    const ends = table.ends();
    return ends === null ? [] : table.read({ firstSeq: ends.first, lastSeq: ends.last });
  });

const numbersIn = (opened: Spool): number[] =>
  bodiesIn(opened).map(({ body }) => JSON.parse(body).metrics.n);

/** A folder with what a killed process leaves: the files as they are, nothing closed. */
const asKilled = () => {
  const folder = path.join(place.folder, 'killed');
  mkdirSync(folder);
  for (const name of ['spool.db', 'spool.db-wal']) {
    copyFileSync(path.join(place.folder, name), path.join(folder, name));
  }
  return folder;
};

describe('claims and completions', () => {
  it('are durable when they are acknowledged', async () => {
    const claim = place.record('claim', { title: 'Pick' });
    await spool.claim(claim);
    await spool.complete(completionOf(claim.id), proofHash);

    const again = place.open({ folder: asKilled() });

    expect(again.findClaim(claim.id)).toMatchObject({ body: claim.body, answer: null });
    expect(again.findCompletion(claim.id)).toMatchObject({ proofHash, state: 'queued' });
  });

  it('accepts the same claim again, and refuses different content under its id', async () => {
    const claim = place.record('claim', { title: 'Pick' });
    await spool.claim(claim);
    place.clock.advance(5000);

    const same = await spool.claim(place.record('claim', { title: 'Pick' }, claim.id));
    const other = await spool.claim(place.record('claim', { title: 'Drop' }, claim.id));

    expect(same).toMatchObject({ outcome: 'repeated', claim: { wallMs: claim.wallMs } });
    expect(other.outcome).toBe('conflict');
  });

  it('keeps the first completion of a task', async () => {
    const id = randomUUID();
    await spool.complete(completionOf(id), proofHash);

    const second = await spool.complete(
      completionOf(id, { picked: 13 }),
      hashProof({ picked: 13 }),
    );

    expect(second).toMatchObject({ outcome: 'in_progress', completion: { proofHash } });
  });

  it('delivers a claim first, and its completion once the claim has arrived', async () => {
    const claim = place.record('claim', { title: 'Pick' });
    await spool.complete(completionOf(claim.id), proofHash);
    await spool.claim(claim);
    const uploads = () => spool.read(({ tasks }) => tasks.uploads(10));

    expect(uploads()).toEqual([{ kind: 'claim', id: claim.id }]);
    await spool.deliverClaim(claim.id, taskOf(claim.id));
    expect(uploads()).toEqual([{ kind: 'completion', id: claim.id }]);
    await spool.update(({ tasks }) => tasks.accept(claim.id));
    expect(uploads()).toEqual([{ kind: 'poll', id: claim.id }]);
  });

  it.each(['queued', 'accepted'])(
    'delivers both again, in that order, if the service lost the task of a completion that is %s',
    async (state) => {
      const claim = place.record('claim', { title: 'Pick' });
      await spool.claim(claim);
      await spool.complete(completionOf(claim.id), proofHash);
      await spool.deliverClaim(claim.id, taskOf(claim.id));
      if (state === 'accepted') await spool.update(({ tasks }) => tasks.accept(claim.id));
      const uploads = () => spool.read(({ tasks }) => tasks.uploads(10));

      const requeued = await spool.update(({ tasks }) => tasks.requeueTask(claim.id));

      expect([requeued, uploads()]).toEqual([true, [{ kind: 'claim', id: claim.id }]]);
      await spool.deliverClaim(claim.id, taskOf(claim.id));
      expect(uploads()).toEqual([{ kind: 'completion', id: claim.id }]);
    },
  );

  it('returns the receipt once a completion is settled, and wakes waiting callers', async () => {
    const id = randomUUID();
    await spool.complete(completionOf(id), proofHash);
    const waiting = spool.waitForReceipt(id, new AbortController().signal);

    await spool.settle(id, { proofHash, verification: receiptOf(id) });
    await waiting;

    const second = await spool.complete(completionOf(id), proofHash);
    expect(second).toMatchObject({
      outcome: 'completed',
      receipt: { verification: receiptOf(id) },
    });
    expect(spool.findCompletion(id)).toBeNull();
  });

  it('sets a completion aside with its refused claim, and reports the reason to the next caller', async () => {
    const claim = place.record('claim', { title: 'Pick' });
    await spool.claim(claim);
    await spool.complete(completionOf(claim.id), proofHash);
    const stored = spool.findClaim(claim.id);
    if (stored === null) throw new Error('no claim');

    await spool.refuseTask(stored, { code: 'id_conflict', message: 'Used.' });

    const refused = spool.read(({ settled }) => settled.refused(10));
    expect(refused.map(({ kind, code }) => [kind, code])).toEqual([
      ['claim', 'id_conflict'],
      ['completion', 'id_conflict'],
    ]);
    const next = await spool.complete(completionOf(claim.id), proofHash);
    expect(next).toMatchObject({ outcome: 'claim_refused', refusal: { code: 'id_conflict' } });
  });
});

describe('samples', () => {
  it('are committed without anything else being written', async () => {
    spool.recordSamples(samples(3));

    await waitFor('the commit', () => numbersIn(spool).length === 3);
  });

  it('are read in batches from both ends, each sample in one batch', async () => {
    spool.recordSamples(samples(10));
    const [newest, oldest, rest, none] = await spool.update(({ samples: table }) => [
      table.batchNewest(3),
      table.batchOldest(4),
      table.batchOldest(50),
      table.batchOldest(50),
    ]);
    const numbers = (batch: typeof newest) =>
      batch === null || batch === undefined
        ? null
        : spool
            .read(({ samples: table }) => table.read(batch))
            .map(({ body }) => JSON.parse(body).metrics.n);

    expect([numbers(newest), numbers(oldest), numbers(rest), numbers(none)]).toEqual([
      [7, 8, 9],
      [0, 1, 2, 3],
      [4, 5, 6],
      null,
    ]);
  });

  it('stay unbatched while they are among the given number of newest samples', async () => {
    spool.recordSamples(samples(10));
    const { waits, batched, left } = await spool.update(({ samples: table }) => {
      const waits = [9, 10].map((most) => table.hasUnbatchedBefore(most));
      table.batchNewest(3);
      const batched = table.hasUnbatchedBefore(100);
      table.batchOldest(7);
      return { waits, batched, left: table.hasUnbatchedBefore(0) };
    });

    expect([waits, batched, left]).toEqual([[true, false], true, false]);
  });

  it('are thinned after a batch in the same way as before one', async () => {
    const all = samples(5000);
    spool.recordSamples(all);
    const { batches, dropped } = await spool.update(({ samples: table }) => {
      const delivered = table.batchOldest(100);
      const batches = [table.batchOldest(100), table.batchOldest(50)];
      if (delivered !== null) table.remove(delivered);
      return { batches, dropped: table.makeRoom() };
    });

    expect(dropped).toEqual({ count: 128, fromMs: all[250]?.wallMs, toMs: all[505]?.wallMs });
    const kept = batches.map((batch) =>
      batch === null ? [] : spool.read(({ samples: table }) => table.read(batch)),
    );
    expect(kept.map(({ length }) => length)).toEqual([100, 50]);
  });

  it('stay in their batch after a restart', async () => {
    spool.recordSamples(samples(5));
    const batch = await spool.update(({ samples: table }) => table.batchOldest(2));

    place.close(spool);
    const again = place.open();

    expect(again.read(({ samples: table }) => table.batches())).toEqual([batch]);
  });

  it('are split down to the refused sample, and the others are delivered', async () => {
    spool.recordSamples(samples(5));
    const whole = await spool.update(({ samples: table }) => table.batchOldest(5));
    if (whole === null) throw new Error('no batch');
    const halve = (batch: Batch) => spool.update(({ samples: table }) => table.halve(batch));
    let batch = whole;
    for (let half = await halve(batch); half !== null; half = await halve(batch)) batch = half[0];

    await spool.refuseSamples(batch, { code: 'invalid_sample', message: 'No.' });

    expect(numbersIn(spool)).toEqual([1, 2, 3, 4]);
    expect(spool.read(({ totals }) => totals.of('refused').count)).toBe(1);
  });

  it('never share a number with new samples, even if they were thinned before their batch was split', async () => {
    spool.recordSamples(samples(3700));
    await spool.update(({ samples: table }) => table.makeRoom());
    const { first, second } = await spool.update(({ samples: table }) => {
      const batch = table.batchOldest(6);
      return { first: batch, second: table.batchOldest(4000) };
    });
    if (first === null || second === null) throw new Error('no batch');
    const halves = await spool.update(({ samples: table }) => table.halve(first));
    if (halves === null) throw new Error('no halves');
    await spool.update(({ samples: table }) => {
      table.remove(second);
      table.remove(halves[1]);
    });
    const sent = spool.read(({ samples: table }) => table.read(halves[0]));
    const [late] = samples(1);
    if (late === undefined) throw new Error('no sample');
    spool.recordSamples([late]);
    await spool.update(({ samples: table }) => table.remove(halves[0]));

    expect(sent).toHaveLength(3);
    expect(bodiesIn(spool).map(({ id }) => id)).toEqual([late.id]);
  });
});

describe('events', () => {
  const recorded = async (count: number) => {
    for (let n = 0; n < count; n++) {
      place.clock.advance(1000);
      spool.createEvent(place.record('event', { n }));
    }
    await spool.update(() => {});
    return spool.read(({ events }) => events.read(count));
  };

  it('are dropped oldest first to make room', async () => {
    const all = await recorded(20);

    const dropped = await spool.update(({ events }) => [events.makeRoom(), events.oldestMs()]);
    const rest = await spool.update(({ events }) => [events.makeRoom(), events.makeRoom()]);

    const [first, last, next, newest] = [0, 15, 16, 19].map((at) => all[at]?.wallMs);
    expect(dropped).toEqual([{ count: 16, fromMs: first, toMs: last }, next]);
    expect(rest).toEqual([{ count: 4, fromMs: next, toMs: newest }, null]);
    expect(spool.read(({ events }) => events.oldestMs())).toBeNull();
  });

  it('are removed by number and id, because a recovery renumbers them', async () => {
    const [one, other] = await recorded(2);
    if (one === undefined || other === undefined) throw new Error('no events');

    await spool.update(({ events }) => events.remove({ seq: one.seq, id: other.id }));

    expect(spool.read(({ events }) => events.read(2))).toEqual([one, other]);
  });

  it('report dropped records once, as one sum over the whole period', async () => {
    await spool.update(({ state }) => {
      state.noteDropped({ count: 2, fromMs: 5000, toMs: 9000 });
      state.noteDropped({ count: 3, fromMs: 1000, toMs: 8000 });
      state.noteDropped({ count: 4, fromMs: 2000, toMs: 7000 });
    });

    await spool.reportDropped();
    await spool.reportDropped();

    const reports = spool.read(({ events }) => events.read(10));
    expect(reports.map(({ body }) => JSON.parse(body).payload)).toEqual([
      { count: 9, from: '1970-01-01T00:00:01.000Z', to: '1970-01-01T00:00:09.000Z' },
    ]);
  });
});

describe('the folder', () => {
  it('is locked by one agent', () => {
    expect(() => place.open()).toThrow(
      expect.objectContaining({ code: 'spool_locked', hint: expect.any(String) }),
    );
  });

  it('is refused with a reason if it is not writable', () => {
    place.close(spool);
    // A file in its place refuses root too.
    const folder = `${place.folder}/spool.db/below`;

    expect(() => place.open({ folder })).toThrow(
      expect.objectContaining({ code: 'spool_unusable' }),
    );
  });

  it('is accessible to its owner only', () => {
    const folder = `${place.folder}/new`;
    place.open({ folder });

    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('keeps every file private in a folder that others can read, whatever the umask', () => {
    const folder = `${place.folder}/open`;
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    for (const name of ['spool.db', 'lock']) writeFileSync(`${folder}/${name}`, '');
    for (const name of ['spool.db', 'lock']) chmodSync(`${folder}/${name}`, 0o664);
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));

    place.open({ folder });

    const files = readdirSync(folder);
    expect(files).toEqual(expect.arrayContaining(['lock', 'reserve', 'spool.db', 'spool.db-wal']));
    for (const name of files) {
      expect([name, statSync(`${folder}/${name}`).mode & 0o777]).toEqual([name, 0o600]);
    }
  });
});

describe('any sequence of writes and removals', () => {
  it('leaves exactly the records that were not removed, even after restarts', async () => {
    type Step = 'claim' | 'sample' | 'batch' | 'ack' | 'restart';
    const steps = fc.array(
      fc.constantFrom<Step>('claim', 'sample', 'sample', 'batch', 'ack', 'restart'),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const own = createTemporarySpool();
        try {
          let opened = own.open();
          const expected = new Map<string, string>();
          for (const step of taken) {
            if (step === 'claim') await opened.claim(own.record('claim', { title: 'Pick' }));
            if (step === 'sample') {
              const record = own.record('sample', {
                metrics: { at: randomBytes(4).toString('hex') },
              });
              expected.set(record.id, record.body);
              opened.recordSamples([record]);
            }
            if (step === 'batch') await opened.update(({ samples: table }) => table.batchOldest(2));
            if (step === 'ack') {
              const [batch] = opened.read(({ samples: table }) => table.batches());
              if (batch === undefined) continue;
              const gone = opened.read(({ samples: table }) => table.read(batch));
              for (const { id } of gone) expected.delete(id);
              await opened.update(({ samples: table }) => table.remove(batch));
            }
            if (step === 'restart') {
              own.close(opened);
              opened = own.open();
            }
          }
          await opened.update(() => {});
          const left = new Map(bodiesIn(opened).map(({ id, body }) => [id, body]));
          expect(left).toEqual(expected);
        } finally {
          own.remove();
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe('an event', () => {
  it('that is refused leaves its queue', async () => {
    spool.createEvent(place.record('event', { event_type: 'info' }));
    await spool.update(() => {});
    const [event] = spool.read(({ events }) => events.read(1));
    if (event === undefined) throw new Error('no event');

    await spool.refuseEvent(event, { code: 'invalid_event', message: 'No.' });

    expect(spool.read(({ events }) => events.read(1))).toEqual([]);
    const refused = spool.read(({ settled }) => settled.refused(10));
    expect(refused).toMatchObject([{ kind: 'event', id: event.id }]);
  });

  it('reports dropped records, and is absent if none were dropped', async () => {
    await spool.reportDropped();
    expect(spool.read(({ events }) => events.read(1))).toEqual([]);
    await spool.update(({ state }) => state.noteDropped({ count: 3, fromMs: 0, toMs: 1 }));

    await spool.reportDropped();

    const [event] = spool.read(({ events }) => events.read(2));
    expect(event).toMatchObject({ kind: 'event', id: expect.stringMatching(/^[\w-]{36}$/) });
    expect(JSON.parse(event?.body ?? '{}')).toMatchObject({
      severity: 'warn',
      message: expect.stringContaining('3 samples or events were dropped'),
    });
  });
});

describe('the spool', () => {
  const sizeOf = (name: string) => statSync(path.join(place.folder, name)).size;

  it('counts writes that are queued and not committed yet', async () => {
    spool.recordSamples([place.record('sample', {}), place.record('sample', {})]);
    spool.createEvent(place.record('event', {}));
    expect(spool.uncommitted).toEqual({ samples: 2, events: 1 });

    await spool.update(() => {});

    expect(spool.uncommitted).toEqual({ samples: 0, events: 0 });
  });

  it('counts its file, log and reserve', () => {
    const parts = readdirSync(place.folder).filter((name) => /^(spool\.db|reserve)/.test(name));

    expect(parts).toContain('spool.db-wal');
    expect(spool.bytesOnDisk()).toBe(parts.reduce((sum, name) => sum + sizeOf(name), 0));
  });

  it('reports the current time as its progress while no write is queued', () => {
    const before = performance.now();

    expect(spool.progressAt).toBeGreaterThanOrEqual(before);
  });

  it('returns the space of removed records to the disk, and keeps all queued writes', async () => {
    const title = 'x'.repeat(250_000);
    const claims = Array.from({ length: 8 }, () => place.record('claim', { title }));
    for (const claim of claims) await spool.claim(claim);
    const before = sizeOf('spool.db') + sizeOf('spool.db-wal');
    await spool.update(({ tasks }) => {
      for (const { id } of claims) tasks.removeClaim(id);
    });
    spool.recordSamples([place.record('sample', { metrics: { n: 1 } })]);

    spool.compact();

    expect(spool.read(({ samples }) => samples.ends())).toEqual({ first: 1, last: 1 });
    expect(sizeOf('spool.db-wal')).toBe(0);
    expect(sizeOf('spool.db')).toBeLessThan(before / 8);
  });
});
