// Stores fleets: creation, order, changes and deletion, which ungroups their robots.

import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../protocol/limits.ts';
import type { FleetRecord, FleetStore } from '../ports/fleets.ts';
import { nextSortOrder, reorderedFleets } from '../rules/fleets.ts';
import { recordNamed } from './audit-log.ts';
import {
  first,
  firstAs,
  insert,
  lock,
  NO_ID,
  rows,
  type StepRunner,
  type Steps,
} from './engine/steps.ts';

// An account has few robots, so counting those of a fleet is cheap.
const COLUMNS = `id, wallet, name, description, location, shift, tags,
  sort_order AS "sortOrder", created_at AS "createdAt", updated_at AS "updatedAt",
  (SELECT count(*) FROM robots WHERE fleet_id = fleets.id) AS "robotCount"`;

/** `tags` is a JSON array. */
type FleetRow = Omit<FleetRecord, 'tags'> & { tags: string };

export const fleetSql = {
  find: `SELECT ${COLUMNS} FROM fleets WHERE id = $1 AND wallet = $2`,
  page: `SELECT ${COLUMNS} FROM fleets WHERE wallet = $1 AND (sort_order, id) > ($2, $3)
    ORDER BY sort_order, id LIMIT $4`,
  all: `SELECT ${COLUMNS} FROM fleets WHERE wallet = $1 ORDER BY sort_order, id`,
  count: `SELECT count(*) AS fleets, max(sort_order) AS "highest" FROM fleets WHERE wallet = $1`,
  update: `UPDATE fleets SET name = $2, description = $3, location = $4, shift = $5, tags = $6,
    sort_order = $7, updated_at = $8 WHERE id = $1`,
  place: 'UPDATE fleets SET sort_order = $2, updated_at = $3 WHERE id = $1',
  // By id, as other writes lock robots.
  robots: 'SELECT id FROM robots WHERE fleet_id = $1 ORDER BY id FOR UPDATE',
  ungroup: 'UPDATE robots SET fleet_id = NULL, updated_at = $2 WHERE fleet_id = $1',
  remove: 'DELETE FROM fleets WHERE id = $1',
} as const;

export function fleetStore({ read, write }: StepRunner): FleetStore {
  return {
    createFleet: ({ createdAt, tags, ...fleet }, by) =>
      write(function* () {
        yield* lock(fleet.wallet);
        const known = yield* findFleet(fleet.id, fleet.wallet);
        if (known !== null) return { outcome: 'id_used', fleet: known };
        const before = yield* first<{ fleets: number; highest: number | null }>(
          fleetSql.count,
          fleet.wallet,
        );
        if ((before?.fleets ?? 0) >= limits.fleetsPerAccount) {
          return { outcome: 'fleet_limit_reached' };
        }
        const json = {
          tags: JSON.stringify(tags),
          sort_order: nextSortOrder(before?.highest ?? null),
        };
        const times = { created_at: createdAt, updated_at: createdAt };
        yield* insert('fleets', [{ ...fleet, ...json, ...times }]);
        const stored = yield* findFleet(fleet.id, fleet.wallet);
        if (stored === null) return { outcome: 'id_used', fleet: null };
        yield* recordNamed('fleet_created', stored, by);
        return { outcome: 'created', fleet: stored };
      }),

    getFleet: (id, wallet) => read(() => findFleet(id, wallet)),

    async listFleets(wallet, limit, after) {
      const { sortOrder, id } = after ?? { sortOrder: -1, id: NO_ID };
      const page = await read(() => rows<FleetRow>(fleetSql.page, wallet, sortOrder, id, limit));
      return page.map(toFleet);
    },

    patchFleet: (id, wallet, patch, now, by) =>
      write(function* () {
        yield* lock(wallet);
        const before = yield* findFleet(id, wallet);
        if (before === null) return null;
        const { name, description, location, shift, tags, sortOrder } = { ...before, ...patch };
        const texts = [name, description, location, shift, JSON.stringify(tags)];
        yield* rows(fleetSql.update, id, ...texts, sortOrder, now);
        const fleet = { ...before, name, description, location, shift, tags, sortOrder };
        if (!isDeepStrictEqual(fleet, before)) yield* recordNamed('fleet_changed', fleet, by);
        return yield* findFleet(id, wallet);
      }),

    deleteFleet: (id, wallet, now, by) =>
      write(function* () {
        yield* lock(wallet);
        const fleet = yield* findFleet(id, wallet);
        if (fleet === null) return false;
        yield* rows(fleetSql.robots, id);
        yield* rows(fleetSql.ungroup, id, now);
        yield* rows(fleetSql.remove, id);
        yield* recordNamed('fleet_deleted', fleet, by);
        return true;
      }),

    reorderFleets: (wallet, ids, now) =>
      write(function* () {
        yield* lock(wallet);
        const all = yield* rows<FleetRow>(fleetSql.all, wallet);
        const before = new Map(all.map((row) => [row.id, row.sortOrder]));
        const order = reorderedFleets([...before.keys()], ids);
        if (order === null) return null;
        for (const [place, id] of order.entries()) {
          if (before.get(id) !== place) yield* rows(fleetSql.place, id, place, now);
        }
        return (yield* rows<FleetRow>(fleetSql.all, wallet)).map(toFleet);
      }),
  };
}

/** Finds a fleet by id if it belongs to the account. */
export function findFleet(id: string, wallet: string): Steps<FleetRecord | null> {
  return firstAs(toFleet, fleetSql.find, id, wallet);
}

function toFleet(row: FleetRow): FleetRecord {
  return { ...row, tags: JSON.parse(row.tags) };
}
