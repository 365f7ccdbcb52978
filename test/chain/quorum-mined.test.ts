import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Found,
  type MinedAnchor,
  minedByQuorum,
  type SentAnchor,
} from '../../src/chain/find-mined.ts';
import type { Hex } from '../../src/proof/bytes.ts';

const ids = ['a', 'b', 'c'];
const anchors: SentAnchor[] = ids.map((id) => ({ id, payload: '0x', variants: [] }));

const anyAnchor = (id: string): fc.Arbitrary<MinedAnchor | null> =>
  fc
    .record({
      outcome: fc.constantFrom('none', 'shallow', 'success', 'reverted', 'altered'),
      blockNumber: fc.bigInt(1n, 3n),
      fork: fc.constantFrom('0xaa', '0xbb'),
    })
    .map(({ outcome, blockNumber, fork }) => {
      if (outcome === 'none') return null;
      if (outcome === 'shallow') return { id, outcome, blockNumber };
      const mined = {
        txHash: `0x${id}` as Hex,
        blockNumber,
        blockHash: fork as Hex,
        txIndex: 0,
        blockTimestamp: 0,
        gasUsed: 21_000n,
        effectiveGasPrice: 1n,
        isReported: true,
        dataFeeWei: 0n,
      };
      return { id, outcome: outcome as 'success' | 'reverted' | 'altered', mined };
    });

/** What one URL may say, honest or not. */
const anyVoice: fc.Arbitrary<Found> = fc
  .record({ headNumber: fc.bigInt(0n, 4n), mined: fc.tuple(...ids.map(anyAnchor)) })
  .map(({ headNumber, mined }) => ({
    headNumber,
    mined: mined.filter((anchor) => anchor !== null),
    unknown: [],
    isUnanimous: true,
  }));

const anyPanel = fc.record({
  voices: fc.array(anyVoice, { minLength: 1, maxLength: 4 }),
  missing: fc.integer({ min: 0, max: 2 }),
  askAll: fc.boolean(),
});

const decided = ({
  voices,
  missing,
  askAll,
}: {
  voices: Found[];
  missing: number;
  askAll: boolean;
}) =>
  minedByQuorum(anchors, voices, {
    quorum: Math.min(2, voices.length + missing),
    configured: voices.length + missing,
    open: 0,
    isLate: true,
    askAll,
  }) as Found;

const wordsOn = (voices: readonly Found[], id: string) =>
  voices.flatMap(({ mined }) => mined.find((anchor) => anchor.id === id) ?? []);

describe('a mined anchor as reported by several URLs', () => {
  it('is accepted only if enough URLs report exactly the same', () => {
    fc.assert(
      fc.property(anyPanel, (pool) => {
        const quorum = Math.min(2, pool.voices.length + pool.missing);
        for (const anchor of decided(pool).mined) {
          if (anchor.outcome === 'shallow') continue;
          const same = wordsOn(pool.voices, anchor.id).filter((word) =>
            isDeepStrictEqual(word, anchor),
          );
          expect(same.length).toBeGreaterThanOrEqual(quorum);
        }
      }),
    );
  });

  it('is absent by unanimous answer only if all URLs have answered and none reports it', () => {
    fc.assert(
      fc.property(anyPanel, (pool) => {
        const found = decided(pool);
        if (!found.isUnanimous) return;
        expect(pool.missing).toBe(0);
        for (const id of ids) {
          if (found.mined.some((anchor) => anchor.id === id)) continue;
          expect(wordsOn(pool.voices, id)).toEqual([]);
        }
      }),
    );
  });

  it('has the lowest cost that any URL reports', () => {
    const at = (cost: object) => ({
      headNumber: 2n,
      mined: [
        {
          id: 'a',
          outcome: 'success' as const,
          mined: {
            txHash: '0xa' as Hex,
            blockNumber: 1n,
            blockHash: '0xaa' as Hex,
            txIndex: 0,
            blockTimestamp: 0,
            gasUsed: 22_000n,
            effectiveGasPrice: 9n,
            dataFeeWei: 0n,
            isReported: true,
            ...cost,
          },
        },
      ],
      unknown: [],
      isUnanimous: true,
    });
    const priceOf = (...costs: object[]) => {
      const voices = costs.map(at);
      const [one] = decided({ voices, missing: 0, askAll: false }).mined;
      return one?.outcome === 'success' ? one.mined.effectiveGasPrice : null;
    };

    expect(priceOf({}, { effectiveGasPrice: 8n })).toBe(8n);
    expect(priceOf({}, { effectiveGasPrice: 2n, isReported: false })).toBe(9n);
    const none = { isReported: false };
    expect(priceOf(none, { ...none, effectiveGasPrice: 7n })).toBe(7n);
  });

  it('is not absent if one URL cannot tell', () => {
    const shallow: MinedAnchor = { id: 'a', outcome: 'shallow', blockNumber: 2n };
    const shown = { headNumber: 2n, mined: [shallow], unknown: [], isUnanimous: true };
    const silent = { headNumber: 5n, mined: [], isUnanimous: true };
    const unknown = [{ id: 'a', reason: 'transaction indexing is in progress' }];
    const said = (last: Found) =>
      decided({ voices: [shown, last], missing: 0, askAll: false }).mined;

    expect(said({ ...silent, unknown })).toEqual([shallow]);
    expect(said({ ...silent, unknown: [] })).toEqual([]);
  });

  it('has not failed while any URL reports success', () => {
    fc.assert(
      fc.property(anyPanel, (pool) => {
        for (const { id, outcome } of decided({ ...pool, askAll: true }).mined) {
          if (outcome !== 'reverted' && outcome !== 'altered') continue;
          const others = wordsOn(pool.voices, id).map((word) => word.outcome);
          expect(others).not.toContain('success');
          expect(others).not.toContain('shallow');
        }
      }),
    );
  });

  it('is judged by the lowest of the reported heads', () => {
    fc.assert(
      fc.property(anyPanel, (pool) => {
        const { headNumber } = decided(pool);
        for (const voice of pool.voices) expect(headNumber <= voice.headNumber).toBe(true);
      }),
    );
  });

  it('does not change once it is accepted before the last answer', () => {
    fc.assert(
      fc.property(fc.array(anyVoice, { minLength: 3, maxLength: 3 }), (voices) => {
        const terms = { quorum: 2, configured: 3, isLate: false, askAll: false };
        const early = minedByQuorum(anchors, voices.slice(0, 2), { ...terms, open: 1 });
        if (early === undefined) return;
        const successes = early.mined.filter(({ outcome }) => outcome === 'success');
        const late = minedByQuorum(anchors, voices, { ...terms, open: 0 }) as Found;
        for (const anchor of successes) expect(late.mined).toContainEqual(anchor);
      }),
    );
  });
});
