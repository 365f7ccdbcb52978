import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PAGE_BYTES } from '../../../src/agent/spool/database.ts';
import type { SpoolRecord } from '../../../src/agent/spool/records.ts';
import { recordsIn } from '../../../src/agent/spool/recover.ts';
import type { Spool } from '../../../src/agent/spool/spool.ts';
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
  it('stays as it is until all of the new one is in its file, however little room there is', async () => {
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
});
