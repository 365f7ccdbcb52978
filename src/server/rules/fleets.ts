// Rules for the order of an account's fleets.
import { limits } from '../../protocol/limits.ts';

/**
 * The sort order of a new fleet: after all others. At the maximum several fleets share it; ids grow with time, so the
 * newest of them still comes last.
 *
 * @param highest - the highest sort order of the account's fleets; null if it has none.
 */
export function nextSortOrder(highest: number | null): number {
  return Math.min((highest ?? -1) + 1, limits.sortOrderMax);
}

/**
 * All fleets in their new order: the wanted ones first, then the others in their existing order. Null if a wanted one
 * does not exist or appears twice.
 */
export function reorderedFleets(before: readonly string[], wanted: readonly string[]) {
  const others = new Set(before);
  if (!wanted.every((id) => others.delete(id))) return null;
  return [...wanted, ...others];
}
