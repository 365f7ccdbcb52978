import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { raisedFees } from '../../src/server/anchoring/fee-bump.ts';

const gwei = 10n ** 9n;
const cap = 500n * gwei;
const quiet = { baseFeePerGas: 1n, maxPriorityFeePerGas: 1n };

describe('raised fees', () => {
  it('are higher by an eighth, rounded up', () => {
    const before = { maxFeePerGas: 1_001n, maxPriorityFeePerGas: 9n };

    expect(raisedFees(before, quiet, { cap, isUnderpriced: false })).toEqual({
      maxFeePerGas: 1_127n,
      maxPriorityFeePerGas: 11n,
    });
  });

  it('follow a market that has risen further', () => {
    const before = { maxFeePerGas: 3n * gwei, maxPriorityFeePerGas: gwei };
    const market = { baseFeePerGas: 50n * gwei, maxPriorityFeePerGas: 2n * gwei };

    expect(raisedFees(before, market, { cap, isUnderpriced: false })).toEqual({
      maxFeePerGas: 102n * gwei,
      maxPriorityFeePerGas: 2n * gwei,
    });
  });

  it('are twice as high if a node found them underpriced', () => {
    const before = { maxFeePerGas: 30n, maxPriorityFeePerGas: 10n };

    expect(raisedFees(before, quiet, { cap, isUnderpriced: true })).toEqual({
      maxFeePerGas: 60n,
      maxPriorityFeePerGas: 20n,
    });
  });

  it('are above zero where the first fees were zero', () => {
    const free = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
    const market = { baseFeePerGas: 0n, maxPriorityFeePerGas: 0n };

    for (const isUnderpriced of [false, true]) {
      expect(raisedFees(free, market, { cap, isUnderpriced })).toEqual({
        maxFeePerGas: 1n,
        maxPriorityFeePerGas: 1n,
      });
    }
  });

  it('end at the cap', () => {
    const fees = (maxFeePerGas: bigint) =>
      raisedFees({ maxFeePerGas, maxPriorityFeePerGas: 1n }, quiet, { cap, isUnderpriced: true });

    expect(fees(cap)).toBeNull();
    expect(fees(cap - cap / 10n)).toBeNull();
    expect(fees(cap - cap / 8n)?.maxFeePerGas).toBe(cap);
  });

  it('are accepted by any pool, whatever the fees before', () => {
    const amount = fc.bigInt({ min: 1n, max: 2n * cap });
    fc.assert(
      fc.property(amount, amount, amount, amount, fc.boolean(), (fee, tip, base, wanted, low) => {
        const before = { maxFeePerGas: fee, maxPriorityFeePerGas: 1n + (tip % fee) };
        const market = { baseFeePerGas: base, maxPriorityFeePerGas: wanted };
        const raised = raisedFees(before, market, { cap, isUnderpriced: low });
        if (raised === null) {
          expect(9n * fee > 8n * cap - 8n).toBe(true);
          return;
        }
        expect(raised.maxFeePerGas <= cap).toBe(true);
        expect(raised.maxPriorityFeePerGas <= raised.maxFeePerGas).toBe(true);
        expect(8n * raised.maxFeePerGas >= 9n * before.maxFeePerGas).toBe(true);
        expect(8n * raised.maxPriorityFeePerGas >= 9n * before.maxPriorityFeePerGas).toBe(true);
      }),
    );
  });
});
