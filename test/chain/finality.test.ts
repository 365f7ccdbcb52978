import { expect, it } from 'vitest';
import { finalityOf, finalityRule, headsOf } from '../../src/chain/finality.ts';

const block = (number: number) => ({
  ok: true as const,
  result: { number: `0x${number.toString(16)}`, hash: `0x${'ab'.repeat(32)}`, timestamp: '0x1' },
});
const head = { ok: true as const, result: '0x64' };

it('uses the finalized block as the safe one while the safe block is older', () => {
  const heads = headsOf([head, block(80), block(90)], finalityRule(null));
  expect(heads).toEqual({ head: 100n, safe: 90n, finalized: 90n });
  expect(finalityOf(90n, heads)).toBe('finalized');
});

it('keeps a safe block that is newer than the finalized one', () => {
  const heads = headsOf([head, block(95), block(90)], finalityRule(null));
  expect(heads).toEqual({ head: 100n, safe: 95n, finalized: 90n });
  expect([90n, 91n, 95n, 96n].map((number) => finalityOf(number, heads))).toEqual([
    'finalized',
    'safe',
    'safe',
    'included',
  ]);
});

it('counts blocks if a depth is configured', () => {
  const heads = headsOf([head], finalityRule(10));
  expect(heads).toEqual({ head: 100n, safe: 96n, finalized: 91n });
});
