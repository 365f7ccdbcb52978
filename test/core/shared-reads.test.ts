import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ProvenBlock } from '../../src/chain/chain-proof.ts';
import { ProviderError } from '../../src/chain/errors.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { ProvenBlocks, shareChainReads, shareReads } from '../../src/server/core/chain-reads.ts';

const TX: Hex = `0x${'11'.repeat(32)}`;
const OTHER: Hex = `0x${'22'.repeat(32)}`;

/** A chain whose reads end when the test says so, each with its number; `begun` holds their transactions in order. */
function controlledChain() {
  const begun: Hex[] = [];
  const ends: ((error?: Error) => void)[] = [];
  return {
    begun,
    end: async (index: number, error?: Error) => {
      ends[index]?.(error);
      await settle();
    },
    read: (txHash: Hex) => {
      const read = begun.push(txHash) - 1;
      return new Promise<number>((resolve, reject) => {
        ends.push((error) => (error ? reject(error) : resolve(read)));
      });
    },
  };
}

/** Shared reads, all of one caller. */
function sharedReads(read: (txHash: Hex) => Promise<number>) {
  const shared = shareReads(read);
  return (txHash: Hex) => shared(txHash, 'caller');
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

afterEach(() => {
  vi.useRealTimers();
});

describe('shareReads', () => {
  it('starts a read if none is in progress', async () => {
    const chain = controlledChain();
    const read = sharedReads(chain.read);

    const first = read(TX);
    await chain.end(0);
    const second = read(TX);
    await chain.end(1);

    expect([await first, await second]).toEqual([0, 1]);
  });

  it('shares the next read among all callers that arrive during a read', async () => {
    const chain = controlledChain();
    const read = sharedReads(chain.read);

    const first = read(TX);
    const later = [read(TX), read(TX), read(TX)];
    expect(chain.begun).toHaveLength(1);
    await chain.end(0);
    await chain.end(1);

    expect(await first).toBe(0);
    expect(await Promise.all(later)).toEqual([1, 1, 1]);
  });

  it('reads different transactions concurrently', () => {
    const chain = controlledChain();
    const read = sharedReads(chain.read);

    void read(TX);
    void read(OTHER);

    expect(chain.begun).toEqual([TX, OTHER]);
  });

  it('continues after a failed read', async () => {
    const chain = controlledChain();
    const read = sharedReads(chain.read);

    const failed = expect(read(TX)).rejects.toThrow('away');
    const waiting = read(TX);
    await chain.end(0, new Error('away'));
    await chain.end(1);

    await failed;
    expect(await waiting).toBe(1);
  });

  it('bases every answer on a read that began after the request, whatever the order of events', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 40 }), async (events) => {
        const chain = controlledChain();
        const read = sharedReads(chain.read);
        const asked: { before: number; reading: Promise<number> }[] = [];
        let ended = 0;
        for (const ask of [...events, true]) {
          if (ask) asked.push({ before: chain.begun.length, reading: read(TX) });
          else if (ended < chain.begun.length) await chain.end(ended++);
          expect(chain.begun.length - ended).toBeLessThanOrEqual(1);
        }
        while (ended < chain.begun.length) await chain.end(ended++);

        for (const { before, reading } of asked) {
          expect(await reading).toBeGreaterThanOrEqual(before);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('shareChainReads', () => {
  const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;

  function turnsOn(chain: ReturnType<typeof controlledChain>) {
    const readAnchor = async (txHash: Hex) => {
      await chain.read(txHash);
      return { facts: { tx: null, receipt: null, canonical_block: null } } as never;
    };
    return shareChainReads({
      readAnchor,
      readBlock: readAnchor as never,
      readHeads: readAnchor as never,
      readProvenBlock: readAnchor as never,
    });
  }

  it('reads for another caller next, however many reads of one are waiting', async () => {
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const flood = Array.from({ length: 60 }, (_, n) => readsOf('one').readAnchor(hash(n)));
    await settle();
    expect(chain.begun).toHaveLength(32);

    const other = readsOf('other').readAnchor(hash(1000));
    await settle();
    expect(chain.begun.at(-1)).toBe(hash(1000));
    await chain.end(32);
    await other;

    for (let n = 0; n < 61; n += 1) await chain.end(n);
    await Promise.all(flood);
  });

  it('uses one turn for all callers that share a read', async () => {
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const callers = Array.from({ length: 30 }, (_, n) =>
      readsOf(`caller ${n}`).readAnchor(hash(0)),
    );
    await settle();
    const others = Array.from({ length: 63 }, (_, n) =>
      readsOf(`other ${n}`).readAnchor(hash(n + 1)),
    );
    await settle();
    // The 64th turn is that of the 29 who joined: it begins when the first read ends.
    expect(chain.begun).toHaveLength(63);

    for (let n = 0; n < 65; n += 1) await chain.end(n);
    await Promise.all([...callers, ...others]);
    expect(chain.begun).toHaveLength(65);
  });

  it('reads in the turn of a caller who joins, before that of the one who asked first', async () => {
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const flood = Array.from({ length: 60 }, (_, n) => readsOf('one').readAnchor(hash(n)));
    await settle();

    const joined = readsOf('other').readAnchor(hash(59));
    await settle();

    expect(chain.begun.at(-1)).toBe(hash(59));
    await chain.end(32);
    await Promise.all([joined, flood[59]]);

    for (let n = 0; n < 60; n += 1) await chain.end(n);
    await Promise.all(flood);
    expect(chain.begun).toHaveLength(60);
  });

  it('refuses a read whose turn does not come within 10 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const flood = Array.from({ length: 33 }, (_, n) => readsOf('one').readAnchor(hash(n)));
    const last = expect(flood[32]).rejects.toMatchObject({ code: 'overloaded' });

    await vi.advanceTimersByTimeAsync(10_000);
    await last;

    for (let n = 0; n < 32; n += 1) await chain.end(n);
    await Promise.all(flood.slice(0, 32));
    expect(chain.begun).toHaveLength(32);
  });
});

describe('proven blocks', () => {
  const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
  const block = (n: number): ProvenBlock => ({ hash: hash(n), number: 1n, anchors: new Map() });
  const failing = () => Promise.reject(new ProviderError('no answer'));

  /** Reads of a chain that answers each read of a proven block with the next of the answers. */
  function provenReads(answers: (() => Promise<ProvenBlock | null>)[]) {
    const unread = () => Promise.reject(new Error('Read')) as never;
    const reads = { readAnchor: unread, readBlock: unread, readHeads: unread };
    const readProvenBlock = () => answers.shift()?.() ?? unread();
    return shareChainReads({ ...reads, readProvenBlock })('caller').readProvenBlock;
  }

  it('are read once, even for callers that arrive during the read', async () => {
    const read = provenReads([async () => block(1)]);

    const found = await Promise.all([read(hash(1)), read(hash(1)), read(hash(1))]);

    expect([...found, await read(hash(1))]).toEqual(Array.from({ length: 4 }, () => block(1)));
  });

  it('are read again if nothing was proven or the node did not answer', async () => {
    const read = provenReads([async () => null, failing, async () => block(1)]);

    expect(await read(hash(1))).toBeNull();
    expect(await read(hash(1))).toBeNull();
    expect(await read(hash(1))).toEqual(block(1));
  });

  it('report an exhausted rate limit, and are read again', async () => {
    const read = provenReads([
      () => Promise.reject(new ProviderError('HTTP status 429', { isExhausted: true })),
      async () => block(1),
    ]);

    await expect(read(hash(1))).rejects.toMatchObject({ code: 'overloaded' });
    expect(await read(hash(1))).toEqual(block(1));
  });

  it('are dropped above the byte limit, unused blocks first', () => {
    const kept = new ProvenBlocks(3 * 512);
    for (const n of [1, 2, 3]) kept.keep(block(n));
    kept.get(hash(1));
    kept.keep(block(3));
    kept.keep(block(4));

    expect([1, 2, 3, 4].filter((n) => kept.get(hash(n)) !== null)).toEqual([1, 3, 4]);
  });

  it('count with their anchors', () => {
    const kept = new ProvenBlocks(3 * 512);
    kept.keep(block(1));
    kept.keep({ ...block(2), anchors: new Map([[hash(9), {} as never]]) });

    expect([1, 2].filter((n) => kept.get(hash(n)) !== null)).toEqual([2]);
  });
});
