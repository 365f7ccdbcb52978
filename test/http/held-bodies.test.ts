import { expect, it } from 'vitest';
import { HeldBodies } from '../../src/server/http/server/bodies.ts';

const KIB = 1024;

/** Bodies of 64 KiB that arrive slowly, 8 of each holder. */
function fill(held: HeldBodies, holders: number, isStranger: boolean) {
  let refused = 0;
  const fail = () => {
    refused += 1;
  };
  for (let i = 0; i < 8 * holders; i += 1) {
    held.grow(held.hold(`holder ${i % holders}`, isStranger, fail), 64 * KIB);
  }
  return refused;
}

it('evicts bodies of anonymous callers only for each other, however many sources they have', () => {
  const held = new HeldBodies();
  const refused: unknown[] = [];
  const account = held.hold('account', false, (error) => refused.push(error));
  held.grow(account, 8 * 1024 * KIB);

  expect(fill(held, 256, true)).toBeGreaterThan(0);
  held.grow(account, 8 * 1024 * KIB);

  expect(refused).toEqual([]);
});

it('refuses bodies of the account that holds the most', () => {
  const held = new HeldBodies();
  const refused: string[] = [];
  for (const [account, mib] of Object.entries({ a: 31, b: 31, c: 31, d: 30 })) {
    held.grow(
      held.hold(account, false, () => refused.push(account)),
      mib * 1024 * KIB,
    );
  }
  held.grow(
    held.hold('e', false, () => refused.push('e')),
    8 * 1024 * KIB,
  );

  expect(refused).toEqual(['a']);
});
