/**
 * Claims over HTTP with 500 idle streams and without any, by turns; load, streams and server on the same machine. Prints
 * medians; fails when the streams cost more than 5 %.
 *
 *   --seconds N    of each measurement (default 10)
 */
import { parseArgs } from 'node:util';
import { byTurns } from './by-turns.js';
import { sized } from './quick.js';
import { report } from './report.js';
import { claimsPerSecond } from './service/claims.js';

const STREAMS = 500;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: sized('10', '1') } },
});
const options = { seconds: Number(values.seconds), environment: {} };

const { measured, raw, ratio } = await byTurns({
  measured: () => claimsPerSecond({ ...options, streams: STREAMS }),
  raw: () => claimsPerSecond(options),
});
report([
  [`claims per second, ${STREAMS} idle streams`, measured],
  ['claims per second, no stream', raw],
  ['ratio', ratio, '>=', 0.95],
]);
