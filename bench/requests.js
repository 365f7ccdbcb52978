/**
 * Claims over HTTP, authenticated, limited, validated and durable, against a Fastify route that parses and echoes the
 * same body and logs the same line, by turns; load and server on the same machine. Prints medians; fails when the goal is
 * missed.
 *
 *   --seconds N    of each measurement (default 10)
 *   --profile DIR  writes a CPU profile of the server there
 */
import { parseArgs } from 'node:util';
import { byTurns } from './by-turns.js';
import { sized } from './quick.js';
import { report } from './report.js';
import { claimsPerSecond, echoesPerSecond } from './service/claims.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: sized('10', '1') }, profile: { type: 'string' } },
});
const seconds = Number(values.seconds);

const { measured, raw, ratio } = await byTurns({
  measured: () => claimsPerSecond({ seconds, environment: {}, profile: values.profile }),
  raw: () => echoesPerSecond({ seconds }),
});
report([
  ['claims per second', measured],
  ['a route that echoes, per second', raw],
  ['ratio', ratio, '>=', 0.35],
]);
