import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { makeCertificate } from '../support/certificate.ts';
import { startPostgres } from '../support/postgres.ts';
import { run } from '../support/programs.ts';
import {
  prepareServer,
  robotClient,
  type ServerOptions,
  type StartingServer,
  signInAt,
} from '../support/server-process.ts';
import { createDatabase } from '../support/temporary-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ReceivedMessage, startReceiver } from '../support/webhook-receiver.ts';

/** What ends, once so many more events were accepted. A service may also kill itself at a fault point. */
export interface Kill {
  after: number;
  what: 'service' | 'receiver' | 'database';
  crash?: NonNullable<ServerOptions['crash']>;
}

export interface WebhookReport {
  store: string;
  events: number;
  messages: number;
  /** Messages that came again, under their id. */
  repeated: number;
  kills: Record<Kill['what'], number>;
  violations: string[];
}

/** Where nothing listens: the campaign anchors nothing. */
const NO_CHAIN = 'http://127.0.0.1:9';

/**
 * A robot reports events, one after the other and each until it is accepted, while service, receiver and database are
 * killed. At the end the receiver must have every event, in order, and no event under two ids.
 */
export async function performWebhooks(
  store: 'sqlite' | 'postgres',
  kills: Iterable<Kill>,
  { openssl, paceMs = 0 }: { openssl: string; paceMs?: number },
): Promise<WebhookReport> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-webhooks-'));
  const certificate = await makeCertificate(openssl, 'DNS:localhost,IP:127.0.0.1');
  const keyFile = path.join(folder, 'webhook.key');
  await writeFile(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const postgres = store === 'postgres' ? await startPostgres() : null;
  const database = postgres && (await createDatabase(postgres.url));
  const account = privateKeyToAccount(generatePrivateKey());
  const environment = {
    SVC_CHAIN_ID: '31337',
    SVC_WEBHOOK_KEY_FILE: keyFile,
    SVC_WEBHOOK_ALLOW_NETWORKS: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_WALLETS: account.address,
    SVC_LOG_LEVEL: 'silent',
    ...(database && { SVC_DATABASE_URL: database.url }),
  };
  const dataDir = path.join(folder, 'data');
  let url = '';
  const startServer = async (crash?: Kill['crash']): Promise<StartingServer> => {
    const prepared = prepareServer({ NODE_EXTRA_CA_CERTS: certificate.file });
    const options = { dataDir, rpcUrl: NO_CHAIN, environment };
    const started = prepared.start({ ...options, ...(crash && { crash }) });
    // One with a fault point may end before it listens.
    url = await started.url.catch(() => url);
    return started;
  };
  let server = await startServer();
  const messages: ReceivedMessage[] = [];
  const violations: string[] = [];
  let secret = '';
  const keep = (message: ReceivedMessage) => {
    try {
      new Webhook(secret).verify(message.body, message.headers);
    } catch (error) {
      violations.push(`${message.id}: ${error}`);
    }
    messages.push(message);
    return 204;
  };
  let receiver = await startReceiver(certificate, keep);
  const { owner, wallet } = await signInAt(url, account);
  const granted = await run(
    'svc-server',
    ['credits', 'grant', wallet, '--anchors', '1', '--note', 'campaign'],
    { env: { ...environment, SVC_DATA_DIR: dataDir } },
  );
  if (granted.exitCode !== 0) throw new Error(granted.stderr);
  const made = await owner.call('createRobot', { body: { name: 'arm' } });
  const apiKey = made.body.api_key ?? '';
  const hook = await owner.call('createWebhook', {
    body: { url: receiver.url, events: ['event.created'] },
  });
  secret = hook.body.secret;

  const accepted: string[] = [];
  let isOver = false;
  async function report(): Promise<void> {
    while (!isOver) {
      const body = { id: randomUUID(), event_type: 'tick', message: `${accepted.length}` };
      for (let isAccepted = false; !isAccepted; ) {
        isAccepted = await robotClient(url, apiKey)
          .call('createEvent', { body })
          .then(
            () => true,
            () => sleep(20).then(() => false),
          );
      }
      accepted.push(body.id);
      await sleep(paceMs);
    }
  }

  const done = { service: 0, receiver: 0, database: 0 };
  const endOf = {
    async service({ crash }: Kill) {
      await server.kill('SIGKILL');
      server = await startServer(crash);
      if (crash === undefined) return;
      await waitFor('the fault point', () => server.killedAt(), 120_000);
      await server.ended;
      server = await startServer();
    },
    async receiver({ after }: Kill) {
      await receiver.close();
      const reached = accepted.length + after;
      await waitFor('events without a receiver', () => accepted.length >= reached);
      receiver = await startReceiver(certificate, keep, receiver.port);
    },
    async database() {
      await postgres?.stop('SIGQUIT');
      await postgres?.start();
    },
  };
  async function kill(): Promise<void> {
    for (const one of kills) {
      const reached = accepted.length + one.after;
      await waitFor('accepted events', () => accepted.length >= reached, 120_000);
      await endOf[one.what](one);
      done[one.what] += 1;
    }
    isOver = true;
  }
  await Promise.all([report(), kill()]);

  const missing = () => {
    const ids = new Set(messages.map(({ data }) => data.id));
    return accepted.filter((id) => !ids.has(id)).length;
  };
  // A webhook that failed several times waits for minutes.
  const isComplete = await waitFor('the last messages', () => missing() === 0, 600_000).catch(
    () => false,
  );
  if (!isComplete) violations.push(`${missing()} events are missing`);
  violations.push(...violationsOf(messages, accepted));
  await server.kill('SIGKILL');
  await receiver.close();
  await database?.drop();
  await postgres?.close();
  await certificate.remove();
  await rm(folder, { recursive: true, force: true });
  const repeated = messages.length - new Set(messages.map(({ id }) => id)).size;
  const counts = { events: accepted.length, messages: messages.length, repeated };
  return { store, ...counts, kills: done, violations };
}

function violationsOf(messages: readonly ReceivedMessage[], accepted: readonly string[]): string[] {
  const found: string[] = [];
  const messageIds = new Map<unknown, string>();
  for (const { id, data } of messages) {
    const first = messageIds.get(data.id) ?? id;
    messageIds.set(data.id, first);
    if (first !== id) found.push(`event ${data.id} came as ${first} and as ${id}`);
  }
  const known = new Set(accepted);
  const order = [...messageIds.keys()].filter((id) => known.has(id as string));
  if (order.some((id, i) => id !== accepted[i])) found.push('the messages came in another order');
  return found;
}
