/**
 * The service over HTTP, load and server on the same machine: durable telemetry against raw inserts of the same rows,
 * authenticated claims against a route that only echoes, and, with PostgreSQL, both against SQLite. Prints a table;
 * fails when a goal is missed.
 *
 *   --seconds N    of each measurement (default 20)
 *   --postgres     measures PostgreSQL as well (its server from npm, or TEST_POSTGRES_URL)
 */
import { parseArgs } from 'node:util';
import { measurePostgres } from './service/postgres.js';
import { rawRowsPerSecond } from './service/raw-sqlite.js';
import { claimsPerSecond, echoesPerSecond, samplesPerSecond } from './service/requests.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    postgres: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
/** Requests that the server commits together under this load. */
const GROUP = 32;

const samples = await samplesPerSecond({ seconds, environment: {} });
const rawRows = await rawRowsPerSecond({ seconds, group: GROUP });
const claims = await claimsPerSecond({ seconds, environment: {} });
const echoes = await echoesPerSecond({ seconds });

const lines = [
  ['telemetry, durable samples per second', samples],
  ['better-sqlite3, rows of the same per second', rawRows],
  ['ratio', samples / rawRows, 0.45],
  ['claims per second', claims],
  ['a route that echoes, per second', echoes],
  ['ratio', claims / echoes, 0.35],
];
if (values.postgres) {
  const postgres = await measurePostgres({ seconds });
  lines.push(
    ['PostgreSQL, durable samples per second', postgres.samples],
    ['ratio to SQLite', postgres.samples / samples],
    ['pg by itself, rows of the same per second', postgres.rawRows],
    ['ratio to pg', postgres.samples / postgres.rawRows],
    ['PostgreSQL, claims per second', postgres.claims],
    ['ratio to SQLite', postgres.claims / claims],
    ['pg by itself, the same statements per second', postgres.rawClaims],
    ['ratio to pg', postgres.claims / postgres.rawClaims],
  );
}

const missed = [];
for (const [label, figure, goal] of lines) {
  if (goal !== undefined && figure < goal) missed.push(label);
  const shown = figure >= 1000 ? figure.toFixed(0) : figure.toPrecision(3);
  const wanted = goal === undefined ? '' : `   >= ${goal}`;
  process.stdout.write(`${label.padEnd(48)}${shown.padStart(9)}${wanted}\n`);
}
if (missed.length > 0) {
  process.stdout.write(`missed: ${missed.join(', ')}; see docs/performance.md\n`);
  process.exitCode = 1;
}
