import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayStore, poolShare } from '../../src/server/rules/storage.ts';

const limits = { poolBytes: 8_000, accountBytes: 50_000 };

/** Stores what is allowed of the writes, one after another, for accounts without a grant. */
function fill(writes: readonly (readonly [account: number, bytes: number])[]) {
  const accounts = new Map<number, number>();
  const sum = () => [...accounts.values()].reduce((total, bytes) => total + bytes, 0);
  for (const [id, bytes] of writes) {
    const account = accounts.get(id) ?? 0;
    const isAllowed = mayStore({ isFunded: false, account, pool: sum() }, bytes, limits);
    if (isAllowed) accounts.set(id, account + bytes);
  }
  return { accounts, stored: sum() };
}

describe('the pool of accounts without a recent grant', () => {
  const writes = fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 900 })), {
    maxLength: 300,
  });

  it('never holds more than its size, and no account more than an eighth', () => {
    fc.assert(
      fc.property(writes, (given) => {
        const { accounts, stored } = fill(given);

        expect(stored).toBeLessThanOrEqual(limits.poolBytes);
        for (const bytes of accounts.values()) expect(bytes).toBeLessThanOrEqual(1_000);
      }),
    );
  });

  it('leaves a new account an eighth of the free space, whatever the others stored', () => {
    fc.assert(
      fc.property(writes, (given) => {
        const { stored: pool } = fill(given);
        const free = Math.floor((limits.poolBytes - pool) / 8);
        const newcomer = { isFunded: false, account: 0, pool };

        expect(mayStore(newcomer, free, limits)).toBe(true);
        expect(mayStore(newcomer, free + 1, limits)).toBe(false);
      }),
    );
  });

  it('does not count what an account stored as taken by others', () => {
    const alone = { isFunded: false, account: 600, pool: 600 };

    expect(mayStore(alone, 400, limits)).toBe(true);
    expect(mayStore(alone, 401, limits)).toBe(false);
  });

  it('counts an account whose grant ended as an eighth at most', () => {
    expect(poolShare(limits)).toBe(1_000);
    const ended = { isFunded: false, account: 40_000, pool: 1_000 };

    expect(mayStore(ended, 1, limits)).toBe(false);
    expect(mayStore({ isFunded: false, account: 0, pool: 1_000 }, 875, limits)).toBe(true);
  });
});

it('lets an account with a recent grant store up to its own quota, however full the pool is', () => {
  const funded = { isFunded: true, account: 40_000, pool: 8_000 };

  expect(mayStore(funded, 10_000, limits)).toBe(true);
  expect(mayStore(funded, 10_001, limits)).toBe(false);
});
