/**
 * One instance on PostgreSQL, with a server from npm or TEST_POSTGRES_URL: durable samples, claims and completions over
 * HTTP against the same on SQLite, and against pg by itself on as many connections, with a statement for each claim.
 * Prints a table; fails when a goal is missed.
 *
 *   --seconds N    of each measurement (default 20)
 */
import { parseArgs } from 'node:util';
import { sized } from './quick.js';
import { report } from './report.js';
import { claimsPerSecond } from './service/claims.js';
import { completionsPerSecond } from './service/completions.js';
import { measurePostgres } from './service/postgres.js';
import { samplesPerSecond } from './service/telemetry.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: sized('20', '1') } },
});
const seconds = Number(values.seconds);

const samples = await samplesPerSecond({ seconds, environment: {} });
const claims = await claimsPerSecond({ seconds, environment: {} });
const completions = await completionsPerSecond({ seconds, environment: {} });
const postgres = await measurePostgres({ seconds });
report([
  ['SQLite, durable samples per second', samples],
  ['PostgreSQL, durable samples per second', postgres.samples],
  ['ratio to SQLite', postgres.samples / samples],
  ['pg by itself, rows of the same per second', postgres.rawRows],
  ['ratio to pg', postgres.samples / postgres.rawRows],
  ['SQLite, claims per second', claims],
  ['PostgreSQL, claims per second', postgres.claims],
  ['ratio to SQLite', postgres.claims / claims, '>=', 0.5],
  ['pg by itself, claims one by one per second', postgres.rawClaims],
  ['ratio to pg', postgres.claims / postgres.rawClaims],
  ['SQLite, completions accepted per second', completions],
  ['PostgreSQL, completions accepted per second', postgres.completions],
  ['ratio to SQLite', postgres.completions / completions, '>=', 0.4],
]);
