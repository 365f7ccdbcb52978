import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { shareChainReads, shareReads } from '../../src/server/core/verification.ts';

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
  it('begins a read of its own when none is under way', async () => {
    const chain = controlledChain();
    const read = sharedReads(chain.read);

    const first = read(TX);
    await chain.end(0);
    const second = read(TX);
    await chain.end(1);

    expect([await first, await second]).toEqual([0, 1]);
  });

  it('shares the next read among all who come while one is under way', async () => {
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

  it('reads different transactions beside each other', () => {
    const chain = controlledChain();
    const read = sharedReads(chain.read);

    void read(TX);
    void read(OTHER);

    expect(chain.begun).toEqual([TX, OTHER]);
  });

  it('goes on after a read that failed', async () => {
    const chain = controlledChain();
    const read = sharedReads(chain.read);

    const failed = expect(read(TX)).rejects.toThrow('away');
    const waiting = read(TX);
    await chain.end(0, new Error('away'));
    await chain.end(1);

    await failed;
    expect(await waiting).toBe(1);
  });

  it('rests every answer on a read that began after the request, whatever the order of events', async () => {
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
    });
  }

  it('reads for another caller next, however many reads of one are waiting', async () => {
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const flood = Array.from({ length: 60 }, (_, n) => readsOf('one').readAnchor(hash(n)));
    await settle();
    expect(chain.begun).toHaveLength(8);

    const other = readsOf('other').readAnchor(hash(1000));
    await settle();
    expect(chain.begun.at(-1)).toBe(hash(1000));
    await chain.end(8);
    await other;

    for (let n = 0; n < 61; n += 1) await chain.end(n);
    await Promise.all(flood);
  });

  it('takes one turn for all callers who share a read', async () => {
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const callers = Array.from({ length: 30 }, (_, n) =>
      readsOf(`caller ${n}`).readAnchor(hash(0)),
    );
    await settle();
    const others = Array.from({ length: 15 }, (_, n) =>
      readsOf(`other ${n}`).readAnchor(hash(n + 1)),
    );
    await settle();
    // The 16th turn is that of the 29 who joined: it begins when the first read ends.
    expect(chain.begun).toHaveLength(15);

    for (let n = 0; n < 17; n += 1) await chain.end(n);
    await Promise.all([...callers, ...others]);
    expect(chain.begun).toHaveLength(17);
  });

  it('reads in the turn of a caller who joins, before that of the one who asked first', async () => {
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const flood = Array.from({ length: 60 }, (_, n) => readsOf('one').readAnchor(hash(n)));
    await settle();

    const joined = readsOf('other').readAnchor(hash(59));
    await settle();

    expect(chain.begun.at(-1)).toBe(hash(59));
    await chain.end(8);
    await Promise.all([joined, flood[59]]);

    for (let n = 0; n < 60; n += 1) await chain.end(n);
    await Promise.all(flood);
    expect(chain.begun).toHaveLength(60);
  });

  it('refuses a read whose turn does not come within 10 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const chain = controlledChain();
    const readsOf = turnsOn(chain);
    const flood = Array.from({ length: 9 }, (_, n) => readsOf('one').readAnchor(hash(n)));
    const last = expect(flood[8]).rejects.toMatchObject({ code: 'chain_unavailable' });

    await vi.advanceTimersByTimeAsync(10_000);
    await last;

    for (let n = 0; n < 8; n += 1) await chain.end(n);
    await Promise.all(flood.slice(0, 8));
    expect(chain.begun).toHaveLength(8);
  });
});
