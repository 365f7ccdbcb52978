import { limits } from '../../../protocol/limits.ts';
import type { RobotStore } from '../../core/robot-store.ts';
import { keyHint, ROBOT_COLUMNS, type RobotRow, toRobot } from '../robot-rows.ts';
import type { Access } from './access.ts';
import { type CountedRow, counting, oldWindows, toCounted } from './rate-counters.ts';
import { NO_UUID, sql } from './sql.ts';

const authenticate = sql(`WITH robot AS (SELECT id, wallet FROM robots WHERE key_hash = $2),
  ${counting('robot', 'SELECT id::text AS key FROM robot')}
  SELECT robot.id, robot.wallet, call.now, counted.used
  FROM robot CROSS JOIN call LEFT JOIN counted ON true`);
// Who waits for the account's lock finds the count of then.
const create = sql(`WITH account AS (
    SELECT wallet FROM accounts WHERE wallet = $2 AND robot_count < ${limits.robotsPerAccount}
    FOR NO KEY UPDATE
  )
  INSERT INTO robots (id, wallet, name, description, key_hash, key_hint, created_at, updated_at)
  SELECT $1::uuid, wallet, $3::text, $4::text, $5::text, $6::text, $7::bigint, $7 FROM account
  RETURNING ${ROBOT_COLUMNS}`);
const find = sql(`SELECT ${ROBOT_COLUMNS} FROM robots WHERE id = $1 AND wallet = $2`);
const page = sql(`SELECT ${ROBOT_COLUMNS} FROM robots
  WHERE wallet = $1 AND id > $2 ORDER BY id LIMIT $3`);
const setKey = sql(`UPDATE robots SET key_hash = $3, key_hint = $4, updated_at = $5
  WHERE id = $1 AND wallet = $2 RETURNING ${ROBOT_COLUMNS}`);

// A fleet that is being deleted is waited for, and one that a robot enters is not deleted before that is seen.
const patch = sql(`WITH fleet AS (
    SELECT id FROM fleets WHERE id = $7 AND wallet = $2 FOR KEY SHARE
  ), patched AS (
    UPDATE robots SET name = coalesce($3, name),
      description = CASE WHEN $4 THEN $5 ELSE description END,
      fleet_id = CASE WHEN $6 THEN $7::uuid ELSE fleet_id END,
      updated_at = $8
    WHERE id = $1 AND wallet = $2 AND ($7 IS NULL OR EXISTS (SELECT FROM fleet))
    RETURNING ${ROBOT_COLUMNS}
  )
  SELECT $7 IS NULL OR EXISTS (SELECT FROM fleet) AS fleet_found, patched.*
  FROM robots LEFT JOIN patched ON true
  WHERE robots.id = $1 AND robots.wallet = $2`);
const assign = sql(`WITH fleet AS (
    SELECT id FROM fleets WHERE id = $3 AND wallet = $1 FOR KEY SHARE
  ), named AS (
    SELECT id FROM robots
    WHERE id = ANY($2::uuid[]) AND wallet = $1 AND ($3 IS NULL OR EXISTS (SELECT FROM fleet))
    ORDER BY id FOR UPDATE
  ), assigned AS (
    UPDATE robots SET fleet_id = $3, updated_at = $4
    WHERE id IN (SELECT id FROM named) AND (SELECT count(*) FROM named) = cardinality($2::uuid[])
    RETURNING ${ROBOT_COLUMNS}
  )
  SELECT $3 IS NULL OR EXISTS (SELECT FROM fleet) AS fleet_found, assigned.*
  FROM (VALUES (1)) AS once LEFT JOIN assigned ON true`);

/** Of a robot that may enter a fleet; its `id` is null where it did not change. */
type MaybeMoved = { fleet_found: boolean } & (RobotRow | { id: null });

export function robotStore(access: Access): Omit<RobotStore, 'deleteRobot'> {
  const noteWindow = oldWindows(access);

  return {
    async authenticateRobot(keyHash) {
      const row = await access.first<CountedRow & { id: string; wallet: string }>(authenticate, [
        access.instant(),
        keyHash,
      ]);
      if (row === undefined) return null;
      noteWindow(row);
      return { robot: { id: row.id, wallet: row.wallet }, count: toCounted('robot', row) };
    },

    async createRobot({ id, wallet, name, description, keyHash, createdAt }) {
      const values = [id, wallet, name, description, keyHash, keyHint(keyHash), createdAt];
      const row = await access.write((tx) => tx.first<RobotRow>(create, values));
      if (row === undefined) return { outcome: 'robot_limit_reached' };
      return { outcome: 'created', robot: toRobot(row) };
    },

    async getRobot(id, wallet) {
      const row = await access.first<RobotRow>(find, [id, wallet]);
      return row === undefined ? null : toRobot(row);
    },

    async listRobots(wallet, limit, after) {
      const rows = await access.rows<RobotRow>(page, [wallet, after ?? NO_UUID, limit]);
      return rows.map(toRobot);
    },

    ...robotChanges(access),
  };
}

function robotChanges(
  access: Access,
): Pick<RobotStore, 'patchRobot' | 'assignRobots' | 'replaceKey'> {
  return {
    async patchRobot(id, wallet, { name, description, fleetId }, now) {
      const row = await access.first<MaybeMoved>(patch, [
        id,
        wallet,
        name ?? null,
        description !== undefined,
        description ?? null,
        fleetId !== undefined,
        fleetId ?? null,
        now,
      ]);
      if (row === undefined) return { outcome: 'robot_not_found' };
      if (!row.fleet_found) return { outcome: 'fleet_not_found' };
      if (row.id === null) return { outcome: 'robot_not_found' };
      return { outcome: 'patched', robot: toRobot(row) };
    },

    async assignRobots(wallet, ids, fleetId, now) {
      const distinct = [...new Set(ids)];
      const rows = await access.rows<MaybeMoved>(assign, [wallet, distinct, fleetId, now]);
      if (rows[0]?.fleet_found !== true) return { outcome: 'fleet_not_found' };
      const robots = new Map(
        rows.flatMap((row) => (row.id === null ? [] : [[row.id, toRobot(row)]])),
      );
      const inOrder = ids.flatMap((id) => robots.get(id) ?? []);
      if (inOrder.length < ids.length) return { outcome: 'robot_not_found' };
      return { outcome: 'assigned', robots: inOrder };
    },

    async replaceKey(id, wallet, keyHash, now) {
      const hint = keyHash === null ? null : keyHint(keyHash);
      const row = await access.first<RobotRow>(setKey, [id, wallet, keyHash, hint, now]);
      return row === undefined ? null : toRobot(row);
    },
  };
}
