import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { encodePayload } from '../../src/proof/payload.ts';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/chains-and-cost.md', root), 'utf8');
const readme = readFileSync(new URL('README.md', root), 'utf8');

/** The price columns of the table: gas price in gwei and token price in USD, as the page states them. */
const prices = [
  { gwei: 1, usd: 3000, digits: 2 },
  { gwei: 20, usd: 3000, digits: 2 },
  { gwei: 0.01, usd: 3000, digits: 4 },
  { gwei: 30, usd: 0.2, digits: 4 },
];

/** Intrinsic gas of a payload whose hashes have no zero byte, per byte of calldata. */
function gasOf(proofs: number, { zero, other }: { zero: number; other: number }): number {
  const hash = `0x${'a1'.repeat(32)}` as const;
  const calldata = encodePayload(
    proofs === 1
      ? { kind: 'single', proof_hash: hash, leaf: hash }
      : { kind: 'batch', root: hash, leaf_count: proofs },
  );
  const bytes = Buffer.from(calldata.slice(2), 'hex');
  const zeros = bytes.filter((byte) => byte === 0).length;
  return 21_000 + zeros * zero + (bytes.length - zeros) * other;
}

const eip7623 = { zero: 10, other: 40 };
const eip2028 = { zero: 4, other: 16 };
const numberOf = (cell = '') => Number(cell.replace(/[^\d.]/g, ''));

it('states the gas of a single and of a batch', () => {
  expect(numberOf(/\| single: .*\| ([\d ]+) \|/.exec(page)?.[1])).toBe(gasOf(1, eip7623));
  const batches = Array.from({ length: 1023 }, (_, i) => i + 2);
  const most = (prices: typeof eip7623) => Math.max(...batches.map((n) => gasOf(n, prices)));
  expect(numberOf(/\| batch: .*\| ([\d ]+) \|/.exec(page)?.[1])).toBe(most(eip7623));
  expect([gasOf(1, eip2028), most(eip2028)]).toEqual([22_108, 21_648]);
  const usual = batches.filter((n) => n < 256 || n % 256 === 0);
  expect([...new Set(usual.map((n) => gasOf(n, eip7623)))]).toEqual([22_590]);
  const text = page.replace(/\s+/g, ' ');
  expect(text).toContain(
    'the leaf count has three zero bytes, so the batch costs at most 22 590 gas.',
  );
  expect(text).toContain('a single costs at most 22 108 gas and a batch at most 21 648');
});

it('computes gas and money per 1 000 proofs', () => {
  const rows = [...page.matchAll(/^\| ([\d ]+) \| ([\d. ]+) \| ([\d ]+) \| (.* USD) \|$/gm)];

  expect(rows.map(([, proofs]) => numberOf(proofs))).toEqual([1, 16, 256, 1024]);
  for (const [, proofs, transactions, gas, money = ''] of rows) {
    const count = 1000 / numberOf(proofs);
    expect(numberOf(transactions)).toBe(Number(count.toFixed(1)));
    expect(numberOf(gas)).toBe(Math.round(count * gasOf(numberOf(proofs), eip7623)));
    expect(money.split(' | ').map(numberOf)).toEqual(
      prices.map(({ gwei, usd, digits }) =>
        Number((count * gasOf(numberOf(proofs), eip7623) * gwei * 1e-9 * usd).toFixed(digits)),
      ),
    );
  }
});

it('states the price of the README', () => {
  const text = readme.replace(/\s+/g, ' ');
  const price =
    /about ([\d.]+) USD per 1 000 tasks on a layer 2, at ([\d.]+) gwei and ([\d ]+) USD/;
  const [stated = 0, gwei = 0, usd = 0] = price.exec(text)?.slice(1).map(numberOf) ?? [];

  const cost = 1000 * gasOf(1, eip7623) * gwei * 1e-9 * usd;
  expect(cost).toBeGreaterThan(0);
  expect(stated).toBe(Number(cost.toFixed(1)));
});
