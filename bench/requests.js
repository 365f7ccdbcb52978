/**
 * Claims over HTTP, authenticated, limited, validated and durable, against a Fastify route that parses and echoes the
 * same body and logs the same line; load and server on the same machine. Prints a table; fails when the goal is missed.
 *
 *   --seconds N    of each measurement (default 20)
 *   --profile DIR  writes a CPU profile of the server there
 */
import { parseArgs } from 'node:util';
import { report } from './report.js';
import { claimsPerSecond, echoesPerSecond } from './service/claims.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, profile: { type: 'string' } },
});
const seconds = Number(values.seconds);

const claims = await claimsPerSecond({ seconds, environment: {}, profile: values.profile });
const echoes = await echoesPerSecond({ seconds });
report([
  ['claims per second', claims],
  ['a route that echoes, per second', echoes],
  ['ratio', claims / echoes, '>=', 0.35],
]);
