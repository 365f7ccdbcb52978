// Decides about the number and order of robots and fleets of an account.
import { limits } from '../../protocol/limits.ts';

export function hasRoomForRobot(robots: number): boolean {
  return robots < limits.robotsPerAccount;
}

export function hasRoomForFleet(fleets: number): boolean {
  return fleets < limits.fleetsPerAccount;
}

/**
 * The sort order of a new fleet: after all others. At the highest order several fleets share it; ids follow time, so
 * the newest of them is still the last.
 *
 * @param highest - the highest of the account's fleets; null: it has none.
 */
export function nextSortOrder(highest: number | null): number {
  return Math.min((highest ?? -1) + 1, limits.sortOrderMax);
}

/**
 * All fleets in their new order: the wanted ones first, then the others as they were. Null where a wanted one is not
 * among them or is wanted twice.
 */
export function reorderedFleets(
  before: readonly string[],
  wanted: readonly string[],
): string[] | null {
  const others = new Set(before);
  if (!wanted.every((id) => others.delete(id))) return null;
  return [...wanted, ...others];
}
