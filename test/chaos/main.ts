import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres.ts';
import { killServers } from '../support/server-process.ts';
import { type CampaignReport, runCampaign, unvisited } from './campaign.ts';
import { performOutage } from './outage.ts';
import type { RunReport } from './server-run.ts';

const help = `npm run chaos -- [options]

Runs the server under robots at work on a local chain, kills it again and again, and at the end of each run
holds every proof, receipt, nonce and ledger entry against the chain. Progress goes to standard error, one
JSON document to standard output. Exits with 1 when anything is wrong; database and log of such a run are kept.

  --runs N             runs (default 10)
  --kills N            kills in each run (default 8)
  --seed S             what chance begins with (default: a new one, which is told)
  --from N             number of the first run (default 0): with the seed, it repeats one run
  --rpc-faults         let providers and chain misbehave as well
  --reorg-depth N      most blocks replaced at once with --rpc-faults (default 5; 0: none)
  --rpc-outage SECONDS instead of all that, take every provider away for so long while robots work
  --postgres           on PostgreSQL instead of SQLite: one from npm, or TEST_POSTGRES_URL
  --help

A seed repeats what is done, not how the processes happen to be scheduled.
`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10' },
    kills: { type: 'string', default: '8' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    from: { type: 'string', default: '0' },
    'rpc-faults': { type: 'boolean', default: false },
    'reorg-depth': { type: 'string', default: '5' },
    'rpc-outage': { type: 'string' },
    postgres: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<boolean> {
  if (values.help) {
    process.stdout.write(help);
    return true;
  }
  process.stderr.write(`seed ${values.seed}\n`);
  if (!values.postgres) return perform(null);
  const given = process.env.TEST_POSTGRES_URL;
  if (given !== undefined) return perform(given);
  const postgres = await startPostgres();
  try {
    return await perform(postgres.url);
  } finally {
    await postgres.close();
  }
}

async function perform(postgresUrl: string | null): Promise<boolean> {
  const { seed } = values;
  if (values['rpc-outage'] !== undefined) {
    const seconds = whole('rpc-outage', values['rpc-outage']);
    const report = await performOutage({ seed, seconds, postgresUrl });
    print({ seed, ...report });
    return report.violations.length === 0;
  }
  const report = await runCampaign({
    seed,
    from: whole('from', values.from),
    runs: whole('runs', values.runs),
    kills: whole('kills', values.kills),
    rpcFaults: values['rpc-faults'],
    deepestReorg: whole('reorg-depth', values['reorg-depth']),
    postgresUrl,
    onRun: tellRun,
  });
  printCampaign(seed, report);
  return report.broken.length === 0;
}

function whole(name: string, text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new TypeError(`--${name} takes a whole number`);
}

function tellRun({ run, kills, proofs, violations, folder }: RunReport): void {
  const end = violations.length === 0 ? 'ok' : `BROKEN, see ${folder}`;
  process.stderr.write(`run ${run}: ${kills.total} kills, ${proofs} proofs, ${end}\n`);
  for (const violation of violations) process.stderr.write(`  ${violation}\n`);
}

function printCampaign(seed: string, report: CampaignReport): void {
  for (const [point, times] of report.kills) {
    process.stderr.write(`${String(times).padStart(6)}  ${point}\n`);
  }
  const { runs, seconds, proofs, kills, faults, answers, broken } = report;
  print({
    seed,
    runs,
    seconds: Math.round(seconds),
    proofs,
    kills: kills.total,
    unvisited: unvisited(report),
    broken,
    kills_at: Object.fromEntries(kills),
    faults: Object.fromEntries(faults),
    answers: Object.fromEntries(answers),
  });
}

function print(report: object): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  killServers();
}
