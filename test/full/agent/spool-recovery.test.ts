import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase, PAGE_BYTES } from '../../../src/agent/spool/database.ts';
import { Budget } from '../../../src/agent/spool/limits.ts';
import {
  DamagedRecord,
  type RecordKind,
  type SpoolRecord,
} from '../../../src/agent/spool/records.ts';
import { insertAll, recordsIn } from '../../../src/agent/spool/recover.ts';
import type { Spool } from '../../../src/agent/spool/spool.ts';
import { tablesOf } from '../../../src/agent/spool/tables.ts';
import { hashProof } from '../../../src/proof/hash.ts';
import { itHolds } from '../../support/property.ts';
import { createTemporarySpool } from '../../support/temporary-spool.ts';

let place: ReturnType<typeof createTemporarySpool>;
let file: string;
const damages: { file: string; records: number }[] = [];

beforeEach(() => {
  damages.length = 0;
  place = createTemporarySpool({ onDamage: (damage) => damages.push(damage) });
  file = path.join(place.folder, 'spool.db');
});

afterEach(() => place.remove());

/** Claims, long completions and samples, all of them in the file. */
async function fill(spool: Spool): Promise<SpoolRecord[]> {
  const claims = Array.from({ length: 5 }, (_, n) => place.record('claim', { title: `Task ${n}` }));
  const evidence = (n: number) => ({ n, evidence: randomBytes(20_000).toString('hex') });
  const completions = claims.map(({ id }, n) => place.record('completion', evidence(n), id));
  const samples = Array.from({ length: 2000 }, (_, n) =>
    place.record('sample', { metrics: { n } }),
  );
  const events = Array.from({ length: 5 }, () => place.record('event', { event_type: 'info' }));
  for (const claim of claims) await spool.claim(claim);
  for (const one of completions) await spool.complete(one, hashProof(JSON.parse(one.body)));
  spool.recordSamples(samples);
  for (const event of events) spool.createEvent(event);
  await spool.update(() => {});
  return [...claims, ...completions, ...samples, ...events];
}

async function filledAndClosed(): Promise<SpoolRecord[]> {
  const spool = place.open();
  const records = await fill(spool);
  place.close(spool);
  return records;
}

function overwritePages(numbers: readonly number[]): void {
  const bytes = readFileSync(file);
  for (const number of numbers) randomBytes(PAGE_BYTES).copy(bytes, (number - 1) * PAGE_BYTES);
  writeFileSync(file, bytes);
}

const keyOf = ({ kind, id, body }: Pick<SpoolRecord, 'kind' | 'id' | 'body'>) =>
  `${kind} ${id} ${body}`;

/** Every record that the spool holds. */
function contentOf(spool: Spool, most = 1000): Set<string> {
  return spool.read(({ tasks, samples, events }) => {
    const uploads = tasks.uploads(most);
    const ids = [...new Set(uploads.map(({ id }) => id))];
    const found = [
      ...ids.map((id) => tasks.claim(id)),
      ...ids.map((id) => tasks.completion(id)),
      ...events.read(1000),
      ...samples.read({ firstSeq: 0, lastSeq: samples.ends()?.last ?? 0 }),
    ];
    return new Set(found.flatMap((record) => (record === null ? [] : keyOf(record))));
  });
}

describe('a damaged spool', () => {
  it('loses no record if its first page is damaged', async () => {
    const records = await filledAndClosed();
    overwritePages([1]);

    const spool = place.open();

    expect(contentOf(spool)).toEqual(new Set(records.map(keyOf)));
    expect(damages).toEqual([
      { file: expect.stringContaining('damaged'), records: records.length },
    ]);
    expect(existsSync(damages[0]?.file ?? '')).toBe(true);
  });

  it('is detected during use, and the call that detects it succeeds', async () => {
    const records = await filledAndClosed();
    const last = statSync(file).size / PAGE_BYTES;
    overwritePages(Array.from({ length: last - 40 }, (_, i) => i + 20));

    const spool = place.open();
    const left = contentOf(spool);
    await spool.claim(place.record('claim', { title: 'After' }));

    expect(damages).toHaveLength(1);
    expect(left.size).toBeGreaterThan(100);
    expect(left.size).toBeLessThan(records.length);
  });

  it('refuses no other sample if it is detected while one is refused', async () => {
    await filledAndClosed();
    const spool = place.open();
    const before = spool.read(({ totals }) => totals.of('samples').count);
    const last = spool.read(({ samples }) => samples.ends()?.last ?? 0);
    // In the new file these numbers belong to samples that were not refused.
    const batch = { firstSeq: last - 999, lastSeq: last - 999 };
    const damage = spool.update(() => {
      if (damages.length === 0) throw new DamagedRecord();
    });

    await Promise.all([damage, spool.refuseSamples(batch, { code: 'invalid', message: 'No.' })]);

    const after = spool.read(({ totals }) => totals.of('samples').count);
    expect([damages.length, after]).toEqual([1, before]);
  });

  it('is recovered once, and a later error that is not damage is reported', async () => {
    const spool = place.open();
    await spool.update(() => {
      if (damages.length === 0) throw new DamagedRecord();
    });

    const read = () =>
      spool.read(() => {
        throw new Error('The caller is wrong.');
      });

    expect(read).toThrow('The caller is wrong.');
    expect(damages).toHaveLength(1);
  });

  it('replaces the one that was set aside before', async () => {
    for (let recovery = 0; recovery < 2; recovery++) {
      await filledAndClosed();
      place.clock.advance(1000);
      overwritePages([1]);
      place.close(place.open());
    }

    expect(damages.map((damage) => existsSync(damage.file))).toEqual([false, true]);
  });

  it('includes its write-ahead log in the recovery', async () => {
    const records = await filledAndClosed();
    const spool = place.open();
    const late = { evidence: randomBytes(30_000).toString('hex') };
    const record = place.record('completion', late);
    await spool.complete(record, hashProof(late));
    const [log, aside] = [`${file}-wal`, path.join(place.folder, 'copy')];
    copyFileSync(file, aside);
    copyFileSync(log, `${aside}-wal`);

    const found = [...recordsIn(aside)].map(keyOf);

    expect(new Set(found)).toEqual(new Set([...records, record].map(keyOf)));
  });

  it('is recovered again after a crash midway, and completed after a crash at the end', async () => {
    const records = await filledAndClosed();
    const whole = path.join(place.folder, 'whole');
    copyFileSync(file, whole);
    overwritePages([1]);
    writeFileSync(`${file}.recovering`, 'half of it');

    const first = place.open();
    expect(contentOf(first).size).toBe(records.length);
    place.close(first);
    renameSync(whole, `${file}.recovered`);
    overwritePages([1]);
    const second = place.open();

    expect(contentOf(second).size).toBe(records.length);
    expect(damages).toHaveLength(1);
  });

  it('yields the later of two claims and completions of a task, whichever is first in it', () => {
    const { clock } = place;
    const [id, other] = [randomUUID(), randomUUID()];
    const both = (title: string, task: string) =>
      (['claim', 'completion'] as const).map((kind) => place.record(kind, { title }, task));
    clock.advance(5000);
    const early = [both('early', id), both('early', other)];
    clock.reboot(clock.now().wallMs + 1000);
    const late = [both('late', id), both('late', other)];
    const db = openDatabase(file);
    const tables = tablesOf(db, new Budget(db, 0, () => 0));

    const order = [early[0], late[0], late[1], early[1]].flatMap((records) => records ?? []);
    insertAll(tables, order.values());

    for (const task of [id, other]) {
      expect(tables.tasks.claim(task)?.body).toBe('{"title":"late"}');
      expect(tables.tasks.completion(task)?.body).toBe('{"title":"late"}');
    }
    db.close();
  });

  it.each(['first', 'last'])(
    'yields the later of two completions of a task if the refused one is %s in it',
    async (position) => {
      const refused = place.record('completion', { picked: 12 });
      const before = place.open();
      await before.complete(refused, hashProof({ picked: 12 }));
      place.close(before);
      const old = readFileSync(file);
      const spool = place.open();
      const stored = spool.findCompletion(refused.id);
      if (stored === null) throw new Error('no completion');
      await spool.refuseTask(stored, { code: 'proof_mismatch', message: 'No.' });
      place.clock.advance(1000);
      const second = place.record('completion', { picked: 13 }, refused.id);
      await spool.complete(second, hashProof({ picked: 13 }));
      place.close(spool);
      const now = readFileSync(file);
      writeFileSync(file, Buffer.concat(position === 'first' ? [old, now] : [now, old]));
      overwritePages([1]);

      const again = place.open();

      expect(damages).toHaveLength(1);
      expect(again.findCompletion(second.id)).toMatchObject({ ...second });
    },
  );

  it('is not changed until the new one is complete, even with little room', async () => {
    const spool = place.open();
    const completions = Array.from({ length: 1200 }, (_, n) =>
      place.record('completion', { n, evidence: randomBytes(1000).toString('hex') }),
    );
    await Promise.all(
      completions.map((one) => spool.complete(one, hashProof(JSON.parse(one.body)))),
    );
    place.close(spool);
    overwritePages([1]);
    const mostBytes = Math.round(statSync(file).size * 0.7);

    // No file grows beyond that, as on a full disk; the log does not need to.
    const compact = ['svc-agent.js', 'spool', 'compact'];
    const tried = spawnSync('prlimit', [`--fsize=${mostBytes}`, process.execPath, ...compact], {
      cwd: fileURLToPath(new URL('../../../bin', import.meta.url)),
      env: { PATH: process.env.PATH, SVC_AGENT_STATE_DIR: place.folder },
      encoding: 'utf8',
    });
    const again = place.open();

    expect([tried.status, tried.stderr]).toEqual([
      1,
      expect.stringContaining('Cannot write the spool'),
    ]);
    const kept = contentOf(again, 2000);
    expect(completions.filter((one) => !kept.has(keyOf(one))).map(({ id }) => id)).toEqual([]);
  });

  itHolds('gives no record that was not written, whatever its bytes', 200, (numRuns) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: PAGE_BYTES, maxLength: PAGE_BYTES }), (bytes) => {
        bytes[0] = 0x0d;
        writeFileSync(file, bytes);
        expect([...recordsIn(file)]).toEqual([]);
      }),
      { numRuns },
    );
  });

  const exactly = 'gives exactly the records of the pages that are whole, whichever are torn';
  itHolds(exactly, 50, async (numRuns) => {
    const records = await filledAndClosed();
    const whole = readFileSync(file);
    const pages = whole.length / PAGE_BYTES;
    const written = new Set(records.map(keyOf));
    const torn = fc.uniqueArray(fc.integer({ min: 1, max: pages }), { maxLength: 5 });
    fc.assert(
      fc.property(torn, (numbers) => {
        writeFileSync(file, whole);
        overwritePages(numbers);
        const found = [...recordsIn(file)];
        for (const record of found) expect(written.has(keyOf(record))).toBe(true);
        // A page holds fewer than 60 of these records.
        expect(found.length).toBeGreaterThanOrEqual(records.length - 60 * numbers.length);
      }),
      { numRuns },
    );
  });

  it.each<RecordKind>(['claim', 'completion'])('keeps a %s unchanged', async (kind) => {
    const records = await filledAndClosed();
    overwritePages([1]);

    const spool = place.open();

    const wanted = records.find((record) => record.kind === kind);
    if (wanted === undefined) throw new Error('no record');
    const found = kind === 'claim' ? spool.findClaim(wanted.id) : spool.findCompletion(wanted.id);
    expect(found).toMatchObject({ ...wanted });
    if (kind === 'completion') {
      expect(found).toMatchObject({ proofHash: hashProof(JSON.parse(wanted.body)) });
    }
  });
});
