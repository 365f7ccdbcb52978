/** `npm run campaign:operator`: kills of the server during grants, suspensions, exports and deletions. */
import { parseArgs } from 'node:util';
import { killServers } from '../../support/server-process.ts';
import { performOperator } from './campaign.ts';

const help = `npm run campaign:operator -- [options]

Kills svc-server during a grant, a suspension, an export and a deletion of an account, starts it again and repeats the
call. A deletion continues by itself. Afterwards nothing may be half done: a grant counts once, an archive is complete, an
account is whole or gone, and check finds nothing. One JSON document for each database to standard output; exits with 1
when anything is wrong.

  --kills N       kills during each of the four, on each database (default 50)
  --seed S        what chance begins with (default: a new one, which is printed)
  --store NAME    sqlite or postgres (default: one after the other)
  --help
`;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    store: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(help);
else await campaign();

async function campaign(): Promise<void> {
  process.stderr.write(`seed ${values.seed}\n`);
  try {
    for (const store of ['sqlite', 'postgres'] as const) {
      if (values.store !== undefined && values.store !== store) continue;
      const report = await performOperator(
        store,
        Number(values.kills),
        String(values.seed),
        (report) => process.stderr.write(`${JSON.stringify(report)}\n`),
      );
      process.stdout.write(`${JSON.stringify(report)}\n`);
      if (report.violations.length > 0) process.exitCode = 1;
    }
  } finally {
    killServers();
  }
}
