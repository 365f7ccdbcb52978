import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cost, ether } from '../../src/dashboard/ui/ether.ts';

it.each([
  ['0', '0'],
  ['1', '<0.000001'],
  ['-1', '−<0.000001'],
  ['1000000000000', '0.000001'],
  ['1999999999999', '0.000001'],
  ['1500000000000000000', '1.5'],
  ['1234567000000000000000000', '1,234,567'],
])('shows %s wei as %s', (wei, shown) => {
  expect(ether(wei)).toBe(shown);
});

it('never shows more than the actual amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 10n ** 12n, max: 10n ** 30n }), (wei) => {
      const [whole = '', decimals = ''] = ether(wei.toString()).replaceAll(',', '').split('.');
      const shown = BigInt(whole + decimals.padEnd(18, '0'));
      expect(shown).toBeLessThanOrEqual(wei);
      expect(wei - shown).toBeLessThan(10n ** 12n);
    }),
  );
});

it.each([
  ['0', '0'],
  ['1833333333333', '0.00000183'],
  ['22000000000000', '0.000022'],
])('shows a cost of %s wei as %s', (wei, shown) => {
  expect(cost(wei)).toBe(shown);
});
