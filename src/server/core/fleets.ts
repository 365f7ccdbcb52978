// Creates, changes, deletes and reorders fleets.
import { isDeepStrictEqual } from 'node:util';
import { v7 as newId } from 'uuid';
import type { Fleet } from '../../protocol/fleets.ts';
import { limits } from '../../protocol/limits.ts';
import type { Body, Query } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { FleetRecord } from '../ports/fleets.ts';
import type { AccountCaller } from '../ports/sign-in.ts';
import { rowBytes } from '../rules/storage.ts';
import { type Deleted, type Deps, deleted, found, noSuch, recording, storing } from './deps.ts';
import type { Page } from './paging.ts';
import { pageOf, readCursor } from './paging.ts';

/**
 * Creates a fleet at the end of the display order. Repeating an id with the same content returns the fleet. Throws
 * `fleet_limit_reached` and `id_conflict`.
 */
export async function createFleet(
  deps: Deps,
  { wallet, by }: AccountCaller,
  { id, ...content }: Body<'createFleet'>,
): Promise<Fleet> {
  const fleet = { description: null, location: null, shift: null, tags: [], ...content };
  const created = { ...fleet, id: id ?? newId(), wallet, createdAt: deps.clock.now() };
  const bytes = rowBytes(fleet.name, fleet.description);
  const result = await storing(deps, { wallet }, bytes, () => deps.store.createFleet(created, by));
  if (result.outcome === 'fleet_limit_reached') {
    const message = `An account can have at most ${limits.fleetsPerAccount} fleets. Delete one first.`;
    throw wireError('fleet_limit_reached', message);
  }
  const stored = result.fleet;
  const isSame = (name: keyof typeof fleet) => isDeepStrictEqual(stored?.[name], fleet[name]);
  if (stored === null || !fleetTexts.every(isSame)) {
    throw wireError('id_conflict', 'The fleet id is already used with other content.');
  }
  deps.store.changed(wallet, null);
  return viewFleet(stored);
}

const fleetTexts = ['name', 'description', 'location', 'shift', 'tags'] as const;

/** One page of the account's fleets, in display order. */
export function listFleets(
  { store }: Deps,
  wallet: string,
  { limit, cursor }: Query<'listFleets'>,
): Promise<Page<Fleet>> {
  const after = readCursor(cursor, 'sortOrder');
  return pageOf(limit, (count) => store.listFleets(wallet, count, after), {
    cursorOf: ({ sortOrder, id }) => `${sortOrder}_${id}`,
    view: viewFleet,
  });
}

/** Throws `not_found`, also for a fleet of another account. */
export async function getFleet({ store }: Deps, wallet: string, id: string) {
  return { fleet: viewFleet(found('fleet', await store.getFleet(id, wallet))) };
}

/** Throws `not_found`. */
export async function patchFleet(
  deps: Deps,
  { wallet, by }: AccountCaller,
  id: string,
  { sort_order: sortOrder, ...texts }: Body<'patchFleet'>,
): Promise<{ fleet: Fleet }> {
  const patch = { ...texts, ...(sortOrder !== undefined && { sortOrder }) };
  const fleet = await recording(deps, wallet, () =>
    deps.store.patchFleet(id, wallet, patch, deps.clock.now(), by),
  );
  deps.store.changed(wallet, null);
  return { fleet: viewFleet(found('fleet', fleet)) };
}

/** Deletes the fleet; its robots are in no fleet afterwards. Throws `not_found`. */
export async function deleteFleet(
  { store, clock }: Deps,
  { wallet, by }: AccountCaller,
  id: string,
): Promise<Deleted> {
  if (!(await store.deleteFleet(id, wallet, clock.now(), by))) throw noSuch('fleet');
  store.changed(wallet, null);
  return deleted;
}

/**
 * Reorders the fleets and returns all of them. Throws `not_found` if the account does not have one of the named fleets.
 */
export async function reorderFleets(
  { store, clock }: Deps,
  wallet: string,
  order: readonly string[],
): Promise<{ fleets: Fleet[] }> {
  const fleets = found('fleet', await store.reorderFleets(wallet, order, clock.now()));
  store.changed(wallet, null);
  return { fleets: fleets.map(viewFleet) };
}

function viewFleet(fleet: FleetRecord): Fleet {
  return {
    id: fleet.id,
    name: fleet.name,
    description: fleet.description,
    location: fleet.location,
    shift: fleet.shift,
    tags: fleet.tags,
    sort_order: fleet.sortOrder,
    robot_count: fleet.robotCount,
    created_at: formatTimestamp(fleet.createdAt),
    updated_at: formatTimestamp(fleet.updatedAt),
  };
}
