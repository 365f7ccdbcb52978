// Stores fleets: creation, order, changes and deletion, which ungroups their robots.

import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../protocol/limits.ts';
import type { FleetRecord, FleetStore } from '../ports/fleets.ts';
import { nextSortOrder, reorderedFleets } from '../rules/fleets.ts';
import { recordNamed } from './audit-log.ts';
import type { Db, Tx } from './db/database.ts';
import { forUpdate, lockAccount } from './db/dialect.ts';
import { insertNew, NO_ID } from './db/rows.ts';
import { raw, sql } from './db/sql.ts';

// An account has few robots, so counting those of a fleet is cheap.
const COLUMNS = raw(`id, wallet, name, description, location, shift, tags,
  sort_order AS "sortOrder", created_at AS "createdAt", updated_at AS "updatedAt",
  (SELECT count(*) FROM robots WHERE fleet_id = fleets.id) AS "robotCount"`);

/** `tags` is a JSON array. */
type FleetRow = Omit<FleetRecord, 'tags'> & { tags: string };

export function fleetStore({ all, read, write }: Db): FleetStore {
  return {
    createFleet: ({ createdAt, tags, ...fleet }, by) =>
      write(async (tx) => {
        await lockAccount(tx, fleet.wallet);
        const known = await findFleet(tx, fleet.id, fleet.wallet);
        if (known !== null) return { outcome: 'id_used', fleet: known };
        const { fleets, highest } = await tx.one<{ fleets: number; highest: number | null }>(
          sql`SELECT count(*) AS fleets, max(sort_order) AS highest FROM fleets
            WHERE wallet = ${fleet.wallet}`,
        );
        if (fleets >= limits.fleetsPerAccount) {
          return { outcome: 'fleet_limit_reached' };
        }
        const json = {
          tags: JSON.stringify(tags),
          sort_order: nextSortOrder(highest),
        };
        const times = { created_at: createdAt, updated_at: createdAt };
        await insertNew(tx, 'fleets', [{ ...fleet, ...json, ...times }]);
        const stored = await findFleet(tx, fleet.id, fleet.wallet);
        if (stored === null) return { outcome: 'id_used', fleet: null };
        await recordNamed(tx, 'fleet_created', stored, by);
        return { outcome: 'created', fleet: stored };
      }),

    getFleet: (id, wallet) => read((tx) => findFleet(tx, id, wallet)),

    async listFleets(wallet, limit, after) {
      const { sortOrder, id } = after ?? { sortOrder: -1, id: NO_ID };
      const page = await all<FleetRow>(sql`SELECT ${COLUMNS} FROM fleets
        WHERE wallet = ${wallet} AND (sort_order, id) > (${sortOrder}, ${id})
        ORDER BY sort_order, id LIMIT ${limit}`);
      return page.map(toFleet);
    },

    patchFleet: (id, wallet, patch, now, by) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        const before = await findFleet(tx, id, wallet);
        if (before === null) return null;
        const fleet = { ...before, ...patch };
        await tx.run(sql`UPDATE fleets SET name = ${fleet.name}, description = ${fleet.description},
          location = ${fleet.location}, shift = ${fleet.shift}, tags = ${JSON.stringify(fleet.tags)},
          sort_order = ${fleet.sortOrder}, updated_at = ${now} WHERE id = ${id}`);
        if (!isDeepStrictEqual(fleet, before)) {
          await recordNamed(tx, 'fleet_changed', fleet, by);
        }
        return findFleet(tx, id, wallet);
      }),

    deleteFleet: (id, wallet, now, by) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        const fleet = await findFleet(tx, id, wallet);
        if (fleet === null) return false;
        // By id, as other writes lock robots.
        await tx.all(sql`SELECT id FROM robots WHERE fleet_id = ${id} ORDER BY id ${forUpdate}`);
        await tx.run(
          sql`UPDATE robots SET fleet_id = NULL, updated_at = ${now} WHERE fleet_id = ${id}`,
        );
        await tx.run(sql`DELETE FROM fleets WHERE id = ${id}`);
        await recordNamed(tx, 'fleet_deleted', fleet, by);
        return true;
      }),

    reorderFleets: (wallet, ids, now) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        const ordered = () =>
          tx.all<FleetRow>(
            sql`SELECT ${COLUMNS} FROM fleets WHERE wallet = ${wallet} ORDER BY sort_order, id`,
          );
        const before = new Map((await ordered()).map((row) => [row.id, row.sortOrder]));
        const order = reorderedFleets([...before.keys()], ids);
        if (order === null) return null;
        for (const [place, id] of order.entries()) {
          if (before.get(id) === place) continue;
          await tx.run(
            sql`UPDATE fleets SET sort_order = ${place}, updated_at = ${now} WHERE id = ${id}`,
          );
        }
        return (await ordered()).map(toFleet);
      }),
  };
}

/** Finds a fleet by id if it belongs to the account. */
export async function findFleet(tx: Tx, id: string, wallet: string): Promise<FleetRecord | null> {
  const row = await tx.get<FleetRow>(
    sql`SELECT ${COLUMNS} FROM fleets WHERE id = ${id} AND wallet = ${wallet}`,
  );
  return row === null ? null : toFleet(row);
}

function toFleet(row: FleetRow): FleetRecord {
  return { ...row, tags: JSON.parse(row.tags) };
}
