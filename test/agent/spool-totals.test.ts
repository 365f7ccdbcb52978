import { randomUUID } from 'node:crypto';
import path from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { valuesOf } from '../../src/agent/spool/records.ts';
import { upgrades } from '../../src/agent/spool/schema.ts';
import type { Spool } from '../../src/agent/spool/spool.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { createTemporarySpool } from '../support/temporary-spool.ts';

let place: ReturnType<typeof createTemporarySpool>;

beforeEach(() => {
  place = createTemporarySpool();
});

afterEach(() => place.remove());

const proof = { picked: 12 };
const refusal = { code: 'id_conflict', message: 'Used.' };
const names = [
  'claims',
  'queued_claims',
  'completions',
  'samples',
  'events',
  'refused',
  'refused_tasks',
] as const;

const totalsIn = (spool: Spool) =>
  spool.read(({ totals }) => Object.fromEntries(names.map((name) => [name, totals.of(name)])));

/** The same, counted row by row. */
function countedIn(file: string) {
  const db = new Database(file, { readonly: true });
  const only: Record<string, string> = {
    queued_claims: "claims WHERE state = 'queued'",
    refused_tasks: "refused WHERE kind IN ('claim', 'completion')",
  };
  const count = (name: string) =>
    db
      .prepare(
        `SELECT count(*) AS count, coalesce(sum(octet_length(body)), 0) AS bytes FROM ${only[name] ?? name}`,
      )
      .get();
  const counted = Object.fromEntries(names.map((name) => [name, count(name)]));
  db.close();
  return counted;
}

/** One step in the life of a spool, with a task that earlier steps may have touched. */
const steps: Record<string, (spool: Spool, id: string) => unknown> = {
  claim: (spool, id) => spool.claim(place.record('claim', { title: 'Prüfen' }, id)),
  complete: (spool, id) => spool.complete(place.record('completion', proof, id), hashProof(proof)),
  deliver: (spool, id) =>
    spool.deliverClaim(id, {
      id,
      title: 'Prüfen',
      description: null,
      status: 'claimed',
      created_at: '2026-01-15T12:00:00.000Z',
    }),
  async refuse(spool, id) {
    const record = spool.findClaim(id) ?? spool.findCompletion(id);
    if (record !== null) await spool.refuseTask(record, refusal);
  },
  retarget: (spool, id) => spool.retargetCompletion(id, randomUUID()),
  drop: (spool, id) => spool.dropCompletion(id),
  resend: (spool) => spool.resendSetAside(),
  sample: (spool) => spool.recordSamples([place.record('sample', { state: 'müßig' })]),
  event: (spool) => spool.createEvent(place.record('event', { event_type: 'info' })),
  async send(spool) {
    const batch = await spool.update(({ samples }) => samples.batchOldest(2));
    if (batch !== null) await spool.update(({ samples }) => samples.remove(batch));
  },
  async refuseSamples(spool) {
    const batch = await spool.update(({ samples }) => samples.batchOldest(2));
    if (batch !== null) await spool.refuseSamples(batch, refusal);
  },
  thin: (spool) => spool.update(({ samples }) => void samples.makeRoom()),
};

it('equal a count of the rows after any operations', async () => {
  const tasks = Array.from({ length: 3 }, () => randomUUID());
  const step = fc.tuple(fc.constantFrom(...Object.keys(steps)), fc.constantFrom(...tasks));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (taken) => {
      const own = createTemporarySpool();
      try {
        const spool = own.open();
        for (const [name, id] of taken) await steps[name]?.(spool, id);
        await spool.update(() => {});
        const totals = totalsIn(spool);
        own.close(spool);
        expect(totals).toEqual(countedIn(path.join(own.folder, 'spool.db')));
      } finally {
        own.remove();
      }
    }),
    { numRuns: 40 },
  );
});

it('are computed for a spool of the first version, whose uploads stay in order', () => {
  const file = path.join(place.folder, 'spool.db');
  const [claim, completion] = [
    place.record('claim', { title: 'Pick' }, 'a'),
    place.record('completion', proof, 'a'),
  ];
  const db = new Database(file);
  db.exec(upgrades[0] ?? '');
  const columns = 'kind, id, wall_ms, boot, mono_ms, crc';
  const values = '@kind, @id, @wallMs, @boot, @monoMs, @crc';
  for (const [table, record] of [
    ['claims', claim],
    ['completions', completion],
  ] as const) {
    db.prepare(
      `INSERT INTO ${table} (${columns}, state, body) VALUES (${values}, 'queued', @body)`,
    ).run(valuesOf(record));
  }
  db.close();

  const spool = place.open();

  const [totals, uploads] = spool.read(({ totals: all, tasks }) => [
    [all.of('queued_claims'), all.of('completions')],
    tasks.uploads(10),
  ]);
  expect(totals).toEqual([
    { count: 1, bytes: claim.body.length },
    { count: 1, bytes: completion.body.length },
  ]);
  expect(uploads).toEqual([{ kind: 'claim', id: 'a' }]);
});
