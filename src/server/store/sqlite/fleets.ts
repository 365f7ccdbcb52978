// Stores fleets: creation, order, changes and deletion, which ungroups their robots.

import type { Database } from 'better-sqlite3';
import type { FleetRecord, FleetStore } from '../../ports/fleets.ts';
import { hasRoomForFleet, nextSortOrder, reorderedFleets } from '../../rules/fleets.ts';
import { FLEET_COLUMNS, type FleetRow, toFleet } from '../rows/fleets.ts';
import { auditRecorder } from './audit-log.ts';
import type { Access } from './engine/connections.ts';

export function fleetStore({ reader, writer, write, read }: Access): FleetStore {
  const find = fleetReader(reader);
  const findInWrite = fleetReader(writer);
  const page = reader.prepare<[string, number, string, number], FleetRow>(
    `SELECT ${FLEET_COLUMNS} FROM fleets WHERE wallet = ? AND (sort_order, id) > (?, ?)
     ORDER BY sort_order, id LIMIT ?`,
  );
  const count = writer.prepare<[string], { fleets: number }>(
    'SELECT count(*) AS fleets FROM fleets WHERE wallet = ?',
  );
  const last = writer.prepare<[string], { sort_order: number }>(
    'SELECT sort_order FROM fleets WHERE wallet = ? ORDER BY sort_order DESC LIMIT 1',
  );
  const insert = writer.prepare<[Record<string, string | number | null>]>(
    `INSERT INTO fleets (id, wallet, name, description, location, shift, tags, sort_order,
       created_at, updated_at)
     VALUES (:id, :wallet, :name, :description, :location, :shift, :tags, :sortOrder,
       :createdAt, :createdAt) ON CONFLICT (id) DO NOTHING`,
  );
  const update = writer.prepare<[Record<string, string | number | null>]>(
    `UPDATE fleets SET name = :name, description = :description, location = :location,
       shift = :shift, tags = :tags, sort_order = :sortOrder, updated_at = :now
     WHERE id = :id`,
  );
  const ungroup = writer.prepare<[number, string]>(
    'UPDATE robots SET fleet_id = NULL, updated_at = ? WHERE fleet_id = ?',
  );
  const remove = writer.prepare<[string]>('DELETE FROM fleets WHERE id = ?');
  const record = auditRecorder(writer);

  return {
    createFleet: (fleet) =>
      write(() => {
        const known = findInWrite(fleet.id, fleet.wallet);
        if (known !== null) return { outcome: 'id_used', fleet: known };
        if (!hasRoomForFleet(count.get(fleet.wallet)?.fleets ?? 0)) {
          return { outcome: 'fleet_limit_reached' };
        }
        const { changes } = insert.run({
          ...fleet,
          tags: JSON.stringify(fleet.tags),
          sortOrder: nextSortOrder(last.get(fleet.wallet)?.sort_order ?? null),
        });
        if (changes === 0) return { outcome: 'id_used', fleet: null };
        return { outcome: 'created', fleet: stored(findInWrite(fleet.id, fleet.wallet)) };
      }),

    getFleet: (id, wallet) => read(() => find(id, wallet)),

    listFleets: (wallet, limit, after) =>
      read(() => {
        const { sortOrder, id } = after ?? { sortOrder: -1, id: '' };
        return page.all(wallet, sortOrder, id, limit).map(toFleet);
      }),

    patchFleet: (id, wallet, patch, now) =>
      write(() => {
        const before = findInWrite(id, wallet);
        if (before === null) return null;
        const { name, description, location, shift, tags, sortOrder } = { ...before, ...patch };
        const json = JSON.stringify(tags);
        update.run({ id, name, description, location, shift, tags: json, sortOrder, now });
        return findInWrite(id, wallet);
      }),

    deleteFleet: (id, wallet, now, by) =>
      write(() => {
        const fleet = findInWrite(id, wallet);
        if (fleet === null) return false;
        ungroup.run(now, id);
        remove.run(id);
        record(wallet, 'fleet_deleted', by, { target_id: id, detail: fleet.name });
        return true;
      }),

    reorderFleets: reorderFleets({ writer, write }),
  };
}

/** Finds a fleet by id if it belongs to the account. */
export function fleetReader(db: Database): (id: string, wallet: string) => FleetRecord | null {
  const find = db.prepare<[string, string], FleetRow>(
    `SELECT ${FLEET_COLUMNS} FROM fleets WHERE id = ? AND wallet = ?`,
  );
  return (id, wallet) => {
    const row = find.get(id, wallet);
    return row === undefined ? null : toFleet(row);
  };
}

function reorderFleets({ writer, write }: Pick<Access, 'writer' | 'write'>) {
  const all = writer.prepare<[string], FleetRow>(
    `SELECT ${FLEET_COLUMNS} FROM fleets WHERE wallet = ? ORDER BY sort_order, id`,
  );
  const place = writer.prepare<[number, number, string]>(
    'UPDATE fleets SET sort_order = ?, updated_at = ? WHERE id = ?',
  );
  const reorder: FleetStore['reorderFleets'] = (wallet, ids, now) =>
    write(() => {
      const before = new Map(all.all(wallet).map((row) => [row.id, row.sortOrder]));
      const order = reorderedFleets([...before.keys()], ids);
      if (order === null) return null;
      for (const [sortOrder, id] of order.entries()) {
        if (before.get(id) !== sortOrder) place.run(sortOrder, now, id);
      }
      return all.all(wallet).map(toFleet);
    });
  return reorder;
}

function stored(fleet: FleetRecord | null): FleetRecord {
  if (fleet === null) throw new Error('The fleet was not stored');
  return fleet;
}
