/**
 * Durable telemetry over HTTP, 50 samples a request of 200 robots, authenticated, limited and validated, against
 * better-sqlite3 by itself, which puts the same rows into the same tables, by turns; load and server on the same machine.
 * Prints medians; fails when the goal is missed.
 *
 *   --seconds N    of each measurement (default 10)
 *   --profile DIR  writes a CPU profile of the server there
 */
import { parseArgs } from 'node:util';
import { byTurns } from './by-turns.js';
import { sized } from './quick.js';
import { report } from './report.js';
import { rawRowsPerSecond } from './service/raw-sqlite.js';
import { samplesPerSecond } from './service/telemetry.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: sized('10', '1') }, profile: { type: 'string' } },
});
const seconds = Number(values.seconds);

const { measured, raw, ratio } = await byTurns({
  measured: () => samplesPerSecond({ seconds, environment: {}, profile: values.profile }),
  raw: () => rawRowsPerSecond({ seconds }),
});
report([
  ['durable samples per second', measured],
  ['better-sqlite3, rows of the same per second', raw],
  ['ratio', ratio, '>=', 0.45],
]);
