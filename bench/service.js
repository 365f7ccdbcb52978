/**
 * The service over HTTP, load and server on the same machine: durable telemetry against raw inserts of the same rows,
 * authenticated claims against a route that only echoes, and, with PostgreSQL, both against SQLite. Prints a table;
 * fails when a goal is missed.
 *
 *   --seconds N    of each measurement (default 20)
 *   --profile DIR  writes CPU profiles of the server there
 *   --postgres     measures PostgreSQL as well (its server from npm, or TEST_POSTGRES_URL)
 */
import { parseArgs } from 'node:util';
import { measurePostgres } from './service/postgres.js';
import { rawRowsPerSecond } from './service/raw-sqlite.js';
import { claimsPerSecond, echoesPerSecond, samplesPerSecond } from './service/requests.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    profile: { type: 'string' },
    postgres: { type: 'boolean', default: false },
  },
});
const { profile } = values;
const seconds = Number(values.seconds);
/** Requests that the server commits together under this load. */
const GROUP = 32;

const missed = [];

function tell(label, figure, goal) {
  if (goal !== undefined && figure < goal) missed.push(label);
  const shown = figure >= 1000 ? figure.toFixed(0) : figure.toPrecision(3);
  const wanted = goal === undefined ? '' : `   >= ${goal}`;
  process.stdout.write(`${label.padEnd(48)}${shown.padStart(9)}${wanted}\n`);
  return figure;
}

const samples = tell(
  'telemetry, durable samples per second',
  await samplesPerSecond({ seconds, environment: {}, profile }),
);
const rawRows = tell(
  'better-sqlite3, rows of the same per second',
  await rawRowsPerSecond({ seconds, group: GROUP }),
);
tell('ratio', samples / rawRows, 0.45);
const claims = tell(
  'claims per second',
  await claimsPerSecond({ seconds, environment: {}, profile }),
);
const echoes = tell('a route that echoes, per second', await echoesPerSecond({ seconds }));
tell('ratio', claims / echoes, 0.35);
if (values.postgres) {
  const postgres = await measurePostgres({ seconds });
  tell('PostgreSQL, durable samples per second', postgres.samples);
  tell('ratio to SQLite', postgres.samples / samples);
  tell('pg by itself, rows of the same per second', postgres.rawRows);
  tell('ratio to pg', postgres.samples / postgres.rawRows);
  tell('PostgreSQL, claims per second', postgres.claims);
  tell('ratio to SQLite', postgres.claims / claims);
  tell('pg by itself, the same statements per second', postgres.rawClaims);
  tell('ratio to pg', postgres.claims / postgres.rawClaims);
}
if (missed.length > 0) {
  process.stdout.write(`missed: ${missed.join(', ')}; see docs/performance.md\n`);
  process.exitCode = 1;
}
