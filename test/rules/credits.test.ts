import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  affordableAnchors,
  chargeOf,
  reservation,
  transactionCost,
} from '../../src/server/rules/credits.ts';

const wei = fc.bigInt({ min: 0n, max: 10n ** 20n });

describe('the charges of one transaction', () => {
  it('sum up to its cost if the reservations cover it, and never to more', () => {
    const leaves = fc.array(wei, { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(wei, leaves, (cost, reserved) => {
        const charges = reserved.map((reservedWei, index) =>
          chargeOf(cost, { index, count: reserved.length, reservedWei }),
        );

        const sum = charges.reduce((total, charge) => total + charge, 0n);
        expect(sum <= cost).toBe(true);
        const isCovered = charges.every((charge, i) => charge < (reserved[i] ?? 0n));
        if (isCovered) expect(sum).toBe(cost);
        for (const [i, charge] of charges.entries()) {
          expect(charge >= 0n && charge <= (reserved[i] ?? 0n)).toBe(true);
        }
      }),
    );
  });

  it('differ only by the remainder, which the first leaf pays', () => {
    const of = (index: number) => chargeOf(100n, { index, count: 3, reservedWei: 1_000n });

    expect([of(0), of(1), of(2)]).toEqual([34n, 33n, 33n]);
  });
});

describe('a reservation', () => {
  it('covers a single at twice the base fee, with its tip and data fee', () => {
    const quote = {
      singleGas: 22_000n,
      baseFeePerGas: 10n,
      maxPriorityFeePerGas: 2n,
      dataFeeWei: 5n,
    };

    expect(reservation(quote)).toBe(22_000n * 22n + 5n);
    expect(transactionCost({ gasUsed: 21_000n, effectiveGasPrice: 12n, dataFeeWei: 5n })).toBe(
      252_005n,
    );
  });
});

describe('a balance', () => {
  it.each([
    [3, 299n, 2],
    [3, 300n, 3],
    [3, 1_000n, 3],
    [0, 1_000n, 0],
    [3, 99n, 0],
  ])('of %i anchors and %i wei covers completions of 100 wei: %i', (quota, gasWei, completions) => {
    expect(affordableAnchors(quota, gasWei, 100n)).toBe(completions);
  });

  it('covers its whole quota if gas is free', () => {
    expect(affordableAnchors(3, 0n, 0n)).toBe(3);
  });
});
