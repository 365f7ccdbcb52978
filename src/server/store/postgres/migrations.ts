// The migrations of a PostgreSQL database, one for each released version.

import { readFileSync } from 'node:fs';
import { decodeSummary } from '../telemetry/roll-ups-002.ts';
import { type Connection, sql } from './engine/connections.ts';
import type { Migration } from './engine/migrate.ts';

const sqlOf = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');

/** In order. Never edit a released one. */
export const migrations: readonly Migration[] = [
  { sql: sqlOf('./postgres-001.sql'), worksFrom: 1 },
  { sql: sqlOf('./postgres-002.sql'), worksFrom: 2 },
  { sql: sqlOf('./postgres-003.sql'), moveRows: moveRollups, worksFrom: 3 },
];

/** Decodes the roll-ups of schema 2, a page at a time. */
async function moveRollups(connection: Connection): Promise<void> {
  await connection.execute(`DECLARE stored CURSOR FOR
    SELECT o.robot_id, resolution, at, samples, summary, names
    FROM telemetry_rollups_002 o LEFT JOIN telemetry_names n
      ON n.robot_id = o.robot_id AND n.day = at - (at % 86400000 + 86400000) % 86400000`);
  const next = sql('FETCH 1000 FROM stored');
  const insert = sql(`INSERT INTO telemetry_rollups
    SELECT * FROM json_populate_recordset(NULL::telemetry_rollups, $1)`);
  for (;;) {
    const rows = await connection.rows<{ summary: Buffer; names: string | null }>(next);
    if (rows.length === 0) break;
    const moved = rows.map(({ summary, names, ...row }) => {
      return { ...row, ...decodeSummary(summary, names) };
    });
    await connection.run(insert, [JSON.stringify(moved)]);
  }
  await connection.execute('CLOSE stored; DROP TABLE telemetry_rollups_002, telemetry_names');
}
