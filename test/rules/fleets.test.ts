import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { nextSortOrder, reorderedFleets } from '../../src/server/rules/fleets.ts';

describe('the order of fleets', () => {
  it('has the named fleets first, then the others in their order, each once', () => {
    const ids = fc.uniqueArray(fc.string(), { maxLength: 12 });
    fc.assert(
      fc.property(ids, fc.nat(), (before, cut) => {
        const wanted = before.toReversed().slice(0, cut % (before.length + 1));

        const order = reorderedFleets(before, wanted) ?? [];

        expect(order.slice(0, wanted.length)).toEqual(wanted);
        expect(order.slice(wanted.length)).toEqual(before.filter((id) => !wanted.includes(id)));
      }),
    );
  });

  it('refuses an unknown fleet, and one that is named twice', () => {
    expect(reorderedFleets(['a', 'b'], ['c'])).toBeNull();
    expect(reorderedFleets(['a', 'b'], ['a', 'a'])).toBeNull();
  });

  it('puts a new fleet last, up to the highest sort order', () => {
    expect(nextSortOrder(null)).toBe(0);
    expect(nextSortOrder(7)).toBe(8);
    expect(nextSortOrder(limits.sortOrderMax)).toBe(limits.sortOrderMax);
  });
});
