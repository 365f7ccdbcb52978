/** `npm run campaign:strangers`: attacks of strangers beside a paying robot. */
import { parseArgs } from 'node:util';
import { streamModule } from '../../support/nginx.ts';
import { killServers } from '../../support/server-process.ts';
import { attackNames, type Latencies, runStrangersCampaign, throughNginx } from './campaign.ts';
import { runMixed } from './mixed-attack.ts';

const help = `npm run campaign:strangers -- [options]

Attacks svc-server as a stranger or a free account would, while a paying robot sends telemetry, and prints the robot's
latencies. The control sends the same to a server that discards it. Fails when a call of the robot fails, or when its
99th percentile is 4 times that of the control or more. Linux only: each attack has an address of its own. The attack
heads needs nginx and libnginx-mod-stream.

  --only ATTACK   one of ${attackNames.join(', ')} (default: all)
  --seconds N     length of each measurement (default 20)
  --mixed N       all attacks at once for N seconds, on SQLite and on three instances on PostgreSQL
  --store STORE   with --mixed: sqlite or postgres (default: both)
  --help
`;

const hasNginx = streamModule() !== null;
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    mixed: { type: 'string' },
    store: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<boolean> {
  if (values.help) {
    process.stdout.write(help);
    return true;
  }
  if (values.mixed !== undefined) return mixed(Number(values.mixed));
  const possible = attackNames.filter((name) => hasNginx || !throughNginx.includes(name));
  if (!hasNginx) process.stderr.write(`NOT CHECKED: ${throughNginx}, which need nginx\n`);
  const names = values.only === undefined ? possible : [values.only];
  const reports = await runStrangersCampaign(names, Number(values.seconds), (report) => {
    const { attack, control, attacked, passed } = report;
    process.stdout.write(
      `${attack.padEnd(14)} ${passed ? 'passed' : 'FAILED'}  control ${line(control)}  attacked ${line(attacked)}\n`,
    );
  });
  return reports.every(({ passed }) => passed);
}

async function mixed(seconds: number): Promise<boolean> {
  let passed = true;
  for (const [store, instances] of Object.entries({ sqlite: 0, postgres: 3 })) {
    if (values.store !== undefined && values.store !== store) continue;
    const report = await runMixed(instances, seconds);
    const { samples, completions, memory, violations } = report;
    process.stdout.write(`${store}: ${violations.length === 0 ? 'passed' : 'FAILED'}\n`);
    for (const one of samples) process.stdout.write(`  samples      ${line(one)}\n`);
    for (const one of completions) process.stdout.write(`  completions  ${line(one)}\n`);
    process.stdout.write(`  memory ${memory.join(', ')} MB\n`);
    for (const violation of violations) process.stdout.write(`  ${violation}\n`);
    passed &&= violations.length === 0;
  }
  return passed;
}

const line = ({ calls, failed, p50, p99, worst }: Latencies) =>
  `p50 ${p50} ms, p99 ${p99} ms, worst ${worst} ms, ${failed} of ${calls} failed`;

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
} finally {
  killServers();
}
process.exit();
