import { parseArgs } from 'node:util';
import { killAgents } from '../../support/agent-process.ts';
import { findProgram } from '../../support/require-program.ts';
import { killServers } from '../../support/server-process.ts';
import { runSigningChaos } from './campaign.ts';

const help = `npm run campaign:signing -- [options]

Robots sign their work, half of them with a command, while agents, the service and the database are killed at random. At
the end no statement may be missing or forked, each completion must be verified, each leaf must be on the chain once,
and each promise must be kept. One JSON document for each database to standard output; exits with 1 when anything is
wrong. Needs openssl.

  --kills N    kills on each database (default 300)
  --robots N   robots (default 20)
  --seed S     what chance begins with (default: a new one, which is printed)
  --store NAME sqlite or postgres (default: one after the other)
  --help
`;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    robots: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    store: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(help);
else await campaign();

async function campaign(): Promise<void> {
  if (findProgram('openssl') === null) throw new Error('openssl is not on this machine');
  const { seed } = values;
  process.stderr.write(`seed ${seed}\n`);
  const stores = (['postgres', 'sqlite'] as const).filter(
    (store) => values.store === undefined || values.store === store,
  );
  try {
    for (const store of stores) {
      const report = await runSigningChaos({
        seed,
        store,
        robots: Number(values.robots),
        kills: Number(values.kills),
        pauseMs: 800,
        onKill: ({ number, of }) => {
          if (number % 10 === 0) process.stderr.write(`${number} kills, the last of the ${of}\n`);
        },
      });
      for (const violation of report.violations) process.stderr.write(`${violation}\n`);
      process.stdout.write(`${JSON.stringify({ seed, ...report })}\n`);
      if (report.violations.length > 0) process.exitCode = 1;
    }
  } finally {
    killAgents();
    killServers();
  }
}
