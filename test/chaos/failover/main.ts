import { parseArgs } from 'node:util';
import { killServers } from '../../support/server-process.ts';
import { performFailovers } from './campaign.ts';
import { type ClusterKill, missingPackages } from './cluster.ts';

const help = `npm run campaign:failover -- [options]

Kills the primary of a PostgreSQL cluster under robots at work: PostgreSQL alone, and for every fourth of these kills
Patroni alone or the whole node. Writes must go on in time, no acknowledged write may be lost, and each proof must be
anchored once. One JSON document to standard output; exits with 1 when anything is wrong. Needs Debian's packages
patroni, etcd-server, haproxy and postgresql.

  --kills N    kills of PostgreSQL (default 20)
  --seed S     what chance begins with (default: a new one, which is printed)
  --help
`;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(help);
else await campaign();

async function campaign(): Promise<void> {
  const missing = missingPackages();
  if (missing.length > 0) throw new Error(`Not on this machine: ${missing.join(', ')}`);
  const { seed } = values;
  process.stderr.write(`seed ${seed}\n`);
  const kills = Array.from({ length: Number(values.kills) }, (_, i): ClusterKill[] => {
    const harder = i % 8 === 3 ? 'patroni' : 'node';
    return i % 4 === 3 ? ['postgres', harder] : ['postgres'];
  }).flat();
  try {
    const report = await performFailovers({
      seed,
      kills,
      onKill: (kill, ms) => process.stderr.write(`${kill}: no write for ${ms} ms\n`),
    });
    for (const violation of report.violations) process.stderr.write(`${violation}\n`);
    process.stdout.write(`${JSON.stringify({ seed, ...report })}\n`);
    if (report.violations.length > 0) process.exitCode = 1;
  } finally {
    killServers();
  }
}
