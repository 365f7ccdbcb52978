/**
 * Durable telemetry over HTTP, 50 samples a request of 200 robots, authenticated, limited and validated, against
 * better-sqlite3 by itself, which puts the same rows into the same tables; load and server on the same machine. Prints
 * a table; fails when the goal is missed.
 *
 *   --seconds N    of each measurement (default 20)
 *   --profile DIR  writes a CPU profile of the server there
 */
import { parseArgs } from 'node:util';
import { report } from './report.js';
import { rawRowsPerSecond } from './service/raw-sqlite.js';
import { samplesPerSecond } from './service/telemetry.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, profile: { type: 'string' } },
});
const seconds = Number(values.seconds);

const samples = await samplesPerSecond({ seconds, environment: {}, profile: values.profile });
const rawRows = await rawRowsPerSecond({ seconds });
report([
  ['durable samples per second', samples],
  ['better-sqlite3, rows of the same per second', rawRows],
  ['ratio', samples / rawRows, '>=', 0.45],
]);
