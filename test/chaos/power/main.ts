/** `npm run campaign:power`: cuts the power of a simulated disk under server and agent. */
import { parseArgs } from 'node:util';
import { killAgents } from '../../support/agent-process.ts';
import { type CampaignReport, type Program, runPowerCampaign, textOfFailure } from './campaign.ts';

const help = `npm run campaign:power -- [options]

Runs svc-server and then svc-agent under load, and records every change and sync of their data folders. Then cuts the
power at many points of the record: what was synced stays, the rest is lost, torn or reordered. Each time it opens the
database or spool that is left, and looks for everything that was answered before the cut. The last cuts are a control:
their disk ignores the syncs of the log, so they must lose answers. Linux only; needs a C compiler.

A table goes to standard output, progress to standard error. Exits with 1 when an answer was lost or a file damaged;
the first disks of such cuts are kept.

  --cuts N         cuts of the server's disk (default 200); the agent's disk gets half as many
  --only PROGRAM   server or agent (default: both)
  --seconds N      length of the load (default 18)
  --seed S         seed of the random choices (default: a new one, which is printed)
  --forget-syncs   ignore the syncs of the log in all cuts: the campaign must fail
  --help

A seed repeats the choices, not the scheduling of the processes.
`;

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '200' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '18' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    'forget-syncs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<boolean> {
  if (values.help) {
    process.stdout.write(help);
    return true;
  }
  const { seed, only } = values;
  const cuts = whole('cuts', values.cuts);
  const partMs = (whole('seconds', values.seconds) * 1000) / 3;
  const forgetSyncs = values['forget-syncs'];
  process.stderr.write(`seed ${seed}\n`);
  const reports: CampaignReport[] = [];
  for (const program of ['server', 'agent'] as const satisfies Program[]) {
    if (only !== undefined && only !== program) continue;
    const report = await runPowerCampaign(program, {
      seed,
      cuts: program === 'server' ? cuts : Math.ceil(cuts / 2),
      partMs,
      forgetSyncs,
      onCut: (done) => {
        if (done % 50 === 0) process.stderr.write(`${program}: ${done} cuts\n`);
      },
    });
    const kinds = [...report.answers].map(([kind, times]) => `${times} ${kind}`);
    process.stderr.write(`${program}: answers: ${kinds.join(', ')}\n`);
    for (const failure of report.failures) process.stderr.write(`${textOfFailure(failure)}\n`);
    reports.push(report);
  }
  if (reports.length === 0) throw new TypeError('--only must be server or agent.');
  process.stdout.write(table(reports));
  return reports.every(isClean);
}

function isClean({ lost, corrupt, control }: CampaignReport): boolean {
  return lost === 0 && corrupt === 0 && (control === null || control.found > 0);
}

function whole(name: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new TypeError(`--${name} must be a whole number from 1.`);
}

function table(reports: readonly CampaignReport[]): string {
  const head = [
    '',
    'cuts',
    'unsynced',
    'syncs',
    'answers',
    'checked',
    'lost',
    'corrupt',
    'control',
    'seconds',
  ];
  const rows = reports.map((report) => [
    report.program,
    report.cuts,
    report.unsynced,
    report.syncs,
    report.answers.total,
    report.checked,
    report.lost,
    report.corrupt,
    report.control === null ? '-' : `${report.control.found}/${report.control.cuts} found`,
    Math.round(report.seconds),
  ]);
  return [head, ...rows]
    .map((cells) =>
      cells
        .map((cell) => String(cell).padStart(11))
        .join('')
        .trimEnd(),
    )
    .join('\n')
    .concat('\n');
}

// Runs the exit handlers, which end what is running and remove the folder.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.once('exit', killAgents);
try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
