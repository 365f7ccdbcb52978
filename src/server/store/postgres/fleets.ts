// Stores fleets: creation, order, changes and deletion, which ungroups their robots.

import type { FleetStore } from '../../ports/fleets.ts';
import { hasRoomForFleet, nextSortOrder, reorderedFleets } from '../../rules/fleets.ts';
import { FLEET_COLUMNS, type FleetRow, toFleet } from '../rows/fleets.ts';
import { lockAccount } from './account.ts';
import { recordAudit } from './audit-log.ts';
import { NO_UUID, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

// The count is in the locked row, so a call that waited for the lock reads it after the wait.
const countFleets = sql('SELECT fleet_count FROM accounts WHERE wallet = $1 FOR NO KEY UPDATE');
const highest = sql('SELECT max(sort_order) AS sort_order FROM fleets WHERE wallet = $1');
const create = sql(`INSERT INTO fleets (id, wallet, name, description, location, shift, tags,
    sort_order, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (id) DO NOTHING RETURNING ${FLEET_COLUMNS}`);
const find = sql(`SELECT ${FLEET_COLUMNS} FROM fleets WHERE id = $1 AND wallet = $2`);
const page = sql(`SELECT ${FLEET_COLUMNS} FROM fleets
  WHERE wallet = $1 AND (sort_order, id) > ($2, $3::uuid) ORDER BY sort_order, id LIMIT $4`);
const patch = sql(`UPDATE fleets SET name = coalesce($3, name),
    description = CASE WHEN $4 THEN $5 ELSE description END,
    location = CASE WHEN $6 THEN $7 ELSE location END,
    shift = CASE WHEN $8 THEN $9 ELSE shift END,
    tags = coalesce($10, tags), sort_order = coalesce($11, sort_order), updated_at = $12
  WHERE id = $1 AND wallet = $2 RETURNING ${FLEET_COLUMNS}`);

const take = sql('SELECT name FROM fleets WHERE id = $1 AND wallet = $2 FOR UPDATE');
const ungroup = sql(`UPDATE robots SET fleet_id = NULL, updated_at = $2 WHERE id IN (
  SELECT id FROM robots WHERE fleet_id = $1 ORDER BY id FOR UPDATE)`);
const remove = sql('DELETE FROM fleets WHERE id = $1');

const takeAll = sql(`SELECT id FROM fleets WHERE wallet = $1 ORDER BY sort_order, id
  FOR NO KEY UPDATE`);
const reorder = sql(`UPDATE fleets SET sort_order = o.place - 1, updated_at = $2
  FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, place)
  WHERE fleets.id = o.id AND fleets.sort_order <> o.place - 1`);
const all = sql(`SELECT ${FLEET_COLUMNS} FROM fleets WHERE wallet = $1 ORDER BY sort_order, id`);

export function fleetStore(access: Access): FleetStore {
  return {
    createFleet: ({ id, wallet, name, description, location, shift, tags, createdAt }) =>
      access.write(async (tx) => {
        const account = await tx.first<{ fleet_count: number }>(countFleets, [wallet]);
        const known = await tx.first<FleetRow>(find, [id, wallet]);
        if (known !== undefined) return { outcome: 'id_used', fleet: toFleet(known) };
        if (account === undefined || !hasRoomForFleet(account.fleet_count)) {
          return { outcome: 'fleet_limit_reached' };
        }
        const last = await tx.first<{ sort_order: number | null }>(highest, [wallet]);
        const values = [id, wallet, name, description, location, shift, JSON.stringify(tags)];
        const sortOrder = nextSortOrder(last?.sort_order ?? null);
        const row = await tx.first<FleetRow>(create, [...values, sortOrder, createdAt]);
        if (row === undefined) return { outcome: 'id_used', fleet: null };
        return { outcome: 'created', fleet: toFleet(row) };
      }),

    async getFleet(id, wallet) {
      const row = await access.first<FleetRow>(find, [id, wallet]);
      return row === undefined ? null : toFleet(row);
    },

    async listFleets(wallet, limit, after) {
      const { sortOrder, id } = after ?? { sortOrder: -1, id: NO_UUID };
      const rows = await access.rows<FleetRow>(page, [wallet, sortOrder, id, limit]);
      return rows.map(toFleet);
    },

    async patchFleet(id, wallet, { name, description, location, shift, tags, sortOrder }, now) {
      const row = await access.first<FleetRow>(patch, [
        id,
        wallet,
        name ?? null,
        description !== undefined,
        description ?? null,
        location !== undefined,
        location ?? null,
        shift !== undefined,
        shift ?? null,
        tags === undefined ? null : JSON.stringify(tags),
        sortOrder ?? null,
        now,
      ]);
      return row === undefined ? null : toFleet(row);
    },

    deleteFleet: (id, wallet, now, by) =>
      access.write(async (tx) => {
        await lockAccount(tx, wallet);
        const fleet = await tx.first<{ name: string }>(take, [id, wallet]);
        if (fleet === undefined) return false;
        await tx.run(ungroup, [id, now]);
        await tx.run(remove, [id]);
        await recordAudit(tx, wallet, 'fleet_deleted', by, { target_id: id, detail: fleet.name });
        return true;
      }),

    reorderFleets: (wallet, ids, now) =>
      access.write(async (tx) => {
        // The locks keep fleets from being added or changed until the commit.
        await lockAccount(tx, wallet);
        const rows = await tx.rows<{ id: string }>(takeAll, [wallet]);
        const order = reorderedFleets(
          rows.map(({ id }) => id),
          ids,
        );
        if (order === null) return null;
        await tx.run(reorder, [order, now]);
        return (await tx.rows<FleetRow>(all, [wallet])).map(toFleet);
      }),
  };
}
