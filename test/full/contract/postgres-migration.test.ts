import pg from 'pg';
import { expect, it } from 'vitest';
import { openConnections } from '../../../src/server/store/postgres/engine/connections.ts';
import { migrate } from '../../../src/server/store/postgres/engine/migrate.ts';
import { migrations } from '../../../src/server/store/postgres/migrations.ts';
import { oldRollup } from '../../support/roll-ups-002.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';

/** More than one page of them. */
const HOURS = 2_500;

it('decodes the roll-ups of the second schema, each with the names of its day', async () => {
  const { bytes, names, decoded } = oldRollup;
  const database = await emptyDatabase();
  const connections = openConnections({ url: database.url, poolMax: 1, pooler: false });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await migrate(connections, migrations.slice(0, 2));
    await client.query(
      `INSERT INTO telemetry_names SELECT gen_random_uuid(), n * 86400000::bigint, $1
       FROM generate_series(-200, 200) AS n`,
      [names.replace('busy', 'of another robot')],
    );
    await client.query(
      `WITH robot (id) AS MATERIALIZED (SELECT gen_random_uuid()), named AS (
         INSERT INTO telemetry_names SELECT id, n * 86400000::bigint, $1
         FROM robot, generate_series(-200, 200) AS n)
       INSERT INTO telemetry_rollups SELECT id, 'hour', n * 3600000::bigint, 3, $2
       FROM robot, generate_series(-100, ${HOURS} - 101) AS n`,
      [names, bytes],
    );

    await migrate(connections, migrations);

    const { rows } = await client.query(
      `SELECT samples::int, battery, states, metrics, count(*)::int, min(at)::int
       FROM telemetry_rollups GROUP BY 1, 2, 3, 4`,
    );
    expect(rows).toEqual([{ samples: 3, ...decoded, count: HOURS, min: -360_000_000 }]);
    const sums = await client.query(
      `SELECT key, sum(value::bigint)::int AS samples
       FROM telemetry_rollups, jsonb_each_text(states::jsonb) GROUP BY key ORDER BY key`,
    );
    expect(sums.rows).toEqual([
      { key: '__proto__', samples: HOURS },
      { key: 'busy', samples: 2 * HOURS },
    ]);
  } finally {
    await client.end();
    await connections.close();
    await database.drop();
  }
});
