import { parseArgs } from 'node:util';
import { findProgram } from '../support/require-program.ts';
import { killServers } from '../support/server-process.ts';
import { type Random, randomOf } from './random.ts';
import { type Kill, performWebhooks } from './webhooks.ts';

const help = `npm run campaign:webhooks -- [options]

A robot reports events, and a webhook gets them, while service, receiver and database are killed at random. At the end
the receiver must have every event in order, and no event under two ids. One JSON document for each database to standard
output; exits with 1 when anything is wrong. Needs openssl.

  --seconds N     how long on each database (default 300)
  --seed S        what chance begins with (default: a new one, which is printed)
  --store NAME    sqlite or postgres (default: one after the other)
  --help
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    store: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(help);
else await campaign();

async function campaign(): Promise<void> {
  const openssl = findProgram('openssl');
  if (openssl === null) throw new Error('openssl is not on this machine');
  process.stderr.write(`seed ${values.seed}\n`);
  const stores = (['sqlite', 'postgres'] as const).filter(
    (store) => values.store === undefined || values.store === store,
  );
  try {
    for (const store of stores) {
      const random = randomOf(`${values.seed} ${store}`);
      const report = await performWebhooks(store, kills(random, store), { openssl, paceMs: 10 });
      process.stdout.write(`${JSON.stringify(report)}\n`);
      if (report.violations.length > 0) process.exitCode = 1;
    }
  } finally {
    killServers();
  }
}

/** SQLite ends with the service. */
function* kills(random: Random, store: 'sqlite' | 'postgres'): Generator<Kill> {
  const end = performance.now() + Number(values.seconds) * 1000;
  const weights = { service: 6, receiver: 1, database: store === 'sqlite' ? 0 : 2 };
  while (performance.now() < end) {
    yield { after: random.between(5, 60), what: random.weighted(weights) };
  }
}
