import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Spool } from '../../src/agent/spool/spool.ts';
import { hashProof } from '../../src/proof/hash.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import { createTemporarySpool, MIB } from '../support/temporary-spool.ts';

let place: ReturnType<typeof createTemporarySpool>;
let spool: Spool;

beforeEach(() => {
  place = createTemporarySpool();
  spool = place.open();
});

afterEach(() => place.remove());

const proof = { picked: 12 };
const proofHash = hashProof(proof);
const refusal = { code: 'id_conflict', message: 'Used.' };
// The spool stores a receipt without looking into it.
const settlement = { proofHash, verification: { status: 'verified' } as Verification };

const claimOf = (id?: string) => place.record('claim', { title: 'Pick' }, id);
const complete = (id: string) => spool.complete(place.record('completion', proof, id), proofHash);
async function refuse(kind: 'claim' | 'completion', id: string): Promise<void> {
  const stored = kind === 'claim' ? spool.findClaim(id) : spool.findCompletion(id);
  if (stored === null) throw new Error(`no ${kind}`);
  await spool.refuseTask(stored, refusal);
}
const refused = () =>
  spool.read(({ settled }) => settled.refused(10)).map(({ kind, id }) => [kind, id]);

describe('a task', () => {
  it('that has its receipt is not claimed again', async () => {
    const claim = claimOf();
    await spool.claim(claim);
    await complete(claim.id);
    await spool.settle(claim.id, settlement);

    expect(spool.findReceipt(claim.id)).toMatchObject(settlement);
    expect(await spool.claim(claim)).toMatchObject({ outcome: 'completed', receipt: settlement });
    expect(spool.findClaim(claim.id)).toBeNull();
  });

  it('keeps its claim if only its completion is refused', async () => {
    const claim = claimOf();
    await spool.claim(claim);
    await complete(claim.id);
    expect(spool.findRefusal(claim.id)).toBeNull();

    await refuse('completion', claim.id);

    expect(refused()).toEqual([['completion', claim.id]]);
    expect(spool.findClaim(claim.id)).not.toBeNull();
    expect(spool.findRefusal(claim.id)).toMatchObject(refusal);
  });

  it('that is claimed again after a refusal can be completed', async () => {
    const claim = claimOf();
    await spool.claim(claim);
    await refuse('claim', claim.id);
    expect(refused()).toEqual([['claim', claim.id]]);
    expect(spool.findRefusal(claim.id)).toMatchObject(refusal);

    await spool.claim(claim);

    expect((await complete(claim.id)).outcome).toBe('stored');
  });

  it('is not waited for if it has no completion', async () => {
    await spool.waitForReceipt(randomUUID(), new AbortController().signal);
  });

  it('is waited for until the caller aborts', async () => {
    const id = randomUUID();
    await complete(id);
    const enough = new AbortController();
    const ended = vi.fn();
    const waiting = spool.waitForReceipt(id, enough.signal).then(ended);
    await spool.update(() => {});
    expect(ended).not.toHaveBeenCalled();

    enough.abort();
    await waiting;
  });
});

describe('a claim', () => {
  it('is refused if claims and completions fill their part of the budget', async () => {
    place.close(spool);
    spool = place.open({ maxBytes: 4 * MIB });
    const outcomes: string[] = [];
    for (let n = 0; n < 8; n++) {
      const title = 'x'.repeat(250_000);
      outcomes.push((await spool.claim(place.record('claim', { title }))).outcome);
    }

    expect(outcomes).toEqual([...Array(5).fill('stored'), ...Array(3).fill('full')]);
  });
});

describe('a change', () => {
  it('is signaled for new records to deliver, and for nothing else', async () => {
    const changed = vi.fn();
    spool.onChange(changed);
    const claim = claimOf();

    await spool.claim(claim);
    expect(changed).toHaveBeenCalledTimes(1);
    await spool.claim(claim);
    expect(changed).toHaveBeenCalledTimes(1);
    await complete(claim.id);
    expect(changed).toHaveBeenCalledTimes(2);
    await complete(claim.id);
    expect(changed).toHaveBeenCalledTimes(2);
  });

  it('without a waiting caller is in the next commit', async () => {
    const soon = spool.updateSoon(({ state }) =>
      state.noteDropped({ count: 1, fromMs: 1, toMs: 2 }),
    );
    await spool.update(() => {});
    await soon;

    expect(spool.read(({ state }) => state.dropped())).toMatchObject({ count: 1 });
  });
});

describe('a completion that is set aside', () => {
  const setAside = async () => {
    const id = randomUUID();
    await complete(id);
    await refuse('completion', id);
    return id;
  };

  it('can be queued for another task, once', async () => {
    const [id, other] = [await setAside(), randomUUID()];
    const changed = vi.fn();
    spool.onChange(changed);

    expect(await spool.retargetCompletion(id, other)).toEqual({ proofHash });

    expect(changed).toHaveBeenCalledTimes(1);
    expect(spool.findCompletion(other)).toMatchObject({ proofHash, kind: 'completion', id: other });
    expect(await spool.retargetCompletion(id, randomUUID())).toBe('absent');
    expect(changed).toHaveBeenCalledTimes(1);
  });

  it('never replaces the completion of another task', async () => {
    const [id, queued, settled] = [await setAside(), randomUUID(), randomUUID()];
    await complete(queued);
    await complete(settled);
    await spool.settle(settled, settlement);

    expect(await spool.retargetCompletion(id, queued)).toBe('in_use');
    expect(await spool.retargetCompletion(id, settled)).toBe('in_use');
    expect(refused()).toEqual([['completion', id]]);
  });

  it('is returned when it is deleted', async () => {
    const id = await setAside();

    expect(await spool.dropCompletion(id)).toMatchObject({ id, code: refusal.code });
    expect(await spool.dropCompletion(id)).toBeNull();
    expect(refused()).toEqual([]);
  });
});
