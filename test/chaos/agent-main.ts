import { parseArgs } from 'node:util';
import { killAgents } from '../support/agent-process.ts';
import { killServers } from '../support/server-process.ts';
import { runAgentChaos } from './agent-run.ts';

const help = `npm run chaos:agent -- [options]

Kills svc-agent, and now and then the service behind it, at random instants while a robot's programs work, and then
holds all that was answered against the service and the chain. Progress goes to standard error, one JSON document
to standard output. Exits with 1 when anything is wrong.

  --runs N   kills (default 30)
  --seed S   what chance begins with (default: a new one, which is told)
  --help
`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    help: { type: 'boolean', default: false },
  },
});
try {
  if (values.help) process.stdout.write(help);
  else process.exitCode = (await main(values.seed, Number(values.runs))) ? 0 : 1;
} finally {
  killAgents();
  killServers();
}

async function main(seed: string, kills: number): Promise<boolean> {
  process.stderr.write(`seed ${seed}\n`);
  const report = await runAgentChaos({
    seed,
    kills,
    pauseMs: 800,
    durableMs: 1000,
    onKill: ({ number, of }) => {
      if (number % 10 === 0) process.stderr.write(`${number} kills, the last of the ${of}\n`);
    },
  });
  for (const violation of report.violations) process.stderr.write(`${violation}\n`);
  process.stdout.write(`${JSON.stringify({ seed, ...report })}\n`);
  return report.violations.length === 0;
}
