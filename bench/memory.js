/**
 * Memory: the server at rest, and server and agent under half the load that they can take, for minutes. Prints a table
 * and, for each soak, the resident memory over time; fails when the server at rest is above its goal, or when memory
 * grows by more than it moves up and down anyway.
 *
 *   --minutes N    of each soak (default 10)
 */
import { parseArgs } from 'node:util';
import { soakAgent } from './memory/agent.js';
import { restOfServer, soakServer } from './memory/server.js';
import { trendOf } from './memory/trend.js';
import { sized } from './quick.js';
import { report } from './report.js';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: sized('10', '0.03') } },
});
const minutes = Number(values.minutes);

const restMb = await restOfServer();
const server = await soakServer(minutes);
const agent = await soakAgent(minutes);

/** The soak's figures, and every twentieth of its memory. */
function linesOf(name, { perSecond, topPerSecond, unit, memory }) {
  const trend = trendOf(memory);
  const twentieths = memory.filter((_, i) => i % Math.ceil(memory.length / 20) === 0);
  const shown = twentieths.map(({ mb }) => mb.toFixed(0)).join(' ');
  process.stdout.write(`${name}, MB over time: ${shown}\n`);
  return [
    [`${name}, ${unit} at top rate`, topPerSecond],
    [`${name}, ${unit} in the soak`, perSecond],
    [`${name}, most (MB)`, Math.max(...memory.map(({ mb }) => mb))],
    [`${name}, up and down around its trend (MB)`, trend.spread],
    [`${name}, grown in the soak's second half (MB)`, trend.grown, '<=', 2 * trend.spread],
  ];
}

report([
  ['server at rest (MB)', restMb, '<=', 110],
  ...linesOf('server', server),
  ...linesOf('agent', agent),
]);
