import { parseArgs } from 'node:util';
import { startBalancer } from '../support/balancer.ts';
import { startNginx } from '../support/nginx.ts';
import { killServers } from '../support/server-process.ts';
import { performInstances } from './instances.ts';

const help = `npm run chaos:instances -- [options]

Three instances of the server on one PostgreSQL behind nginx (deploy/nginx.conf), under robots at work: every few
seconds one is killed, now and then one is paused for longer than its lease, or PostgreSQL restarts. At the end
everything is compared with the chain. One JSON document to standard output; exits with 1 when anything is wrong.

  --seconds N     how long (default 180)
  --seed S        what chance begins with (default: a new one, which is told)
  --no-nginx      hand on connections without nginx
  --help
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '180' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    nginx: { type: 'boolean', default: true },
    help: { type: 'boolean', default: false },
  },
  allowNegative: true,
});

if (values.help) {
  process.stdout.write(help);
} else {
  process.stderr.write(`seed ${values.seed}\n`);
  try {
    const report = await performInstances({
      seed: values.seed,
      seconds: Number(values.seconds),
      restMs: 3_000,
      faults: { kill: 8, pause: 1, database: 1 },
      balance: values.nginx ? startNginx : startBalancer,
    });
    process.stdout.write(`${JSON.stringify(report)}\n`);
    process.exitCode = report.violations.length === 0 ? 0 : 1;
  } finally {
    killServers();
  }
}
