/** A robot's programs at work at a recorded agent, and the facts that its answers promise. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashProof } from '../../../src/proof/hash.ts';
import { spawnAgent } from '../../support/agent-process.ts';
import { anvilAccounts, startTestChain } from '../../support/anvil.ts';
import { callLocally } from '../../support/local-call.ts';
import { signInAt } from '../../support/server-process.ts';
import { type Passing, type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';
import type { Random } from '../random.ts';
import { type Fact, Facts } from './facts.ts';
import { type LoadOptions, withServer } from './server-load.ts';

/** The service is away for this long, then there for as long. */
const OUTAGE_MS = 1_500;

/**
 * Runs the agent three times on one spool, in front of a service that comes and goes. The first run kills itself between
 * a write and its sync, the others end cleanly. Afterwards nothing writes to the spool any more.
 */
export async function loadAgent({ journal, root, partMs, random }: LoadOptions): Promise<Facts> {
  const facts = new Facts(journal.position);
  const folder = path.join(path.dirname(root), 'service');
  mkdirSync(folder);
  const chain = await startTestChain({ blockTime: 1 });
  const env = {
    SVC_DATA_DIR: path.join(folder, 'data'),
    SVC_CHAIN_RPC_URL: chain.url,
    SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
    SVC_SIGNUP_ANCHORS: '1000000',
    SVC_SIGNUP_GAS_WEI: `${10n ** 24n}`,
    SVC_DISK_MIN_FREE_MB: '0',
    SVC_LOG_LEVEL: 'info',
  };
  try {
    await withServer(env, async (url) => {
      const proxy = await startServiceProxy(url);
      try {
        await runAgents({ proxy, url, folder, options: { journal, root, partMs, random }, facts });
      } finally {
        await proxy.close();
      }
    });
    return facts;
  } finally {
    await chain.close();
  }
}

interface Site {
  proxy: ServiceProxy;
  /** Of the service, past the proxy. */
  url: string;
  folder: string;
  options: LoadOptions;
  facts: Facts;
}

async function runAgents({ proxy, url, folder, options, facts }: Site): Promise<void> {
  const { journal, root, partMs, random } = options;
  const { owner } = await signInAt(url);
  const { api_key: apiKey = '' } = (await owner.call('createRobot', { body: { name: 'arm' } }))
    .body;
  const keyFile = path.join(folder, 'key');
  writeFileSync(keyFile, apiKey, { mode: 0o600 });
  const socketPath = path.join(folder, 'agent.sock');
  const spooled = new Spooled(facts);
  for (const end of ['SIGUSR2', 'SIGTERM', 'SIGTERM'] as const) {
    const agent = await spawnAgent({
      ...journal.environment,
      SVC_AGENT_URL: proxy.url,
      SVC_AGENT_KEY_FILE: keyFile,
      SVC_AGENT_STATE_DIR: path.join(root, 'state'),
      SVC_AGENT_SOCKET: socketPath,
      SVC_AGENT_LOG_LEVEL: 'info',
    });
    try {
      const stopped = new AbortController();
      const outages = comeAndGo(proxy, spooled, stopped.signal);
      const working = work({ socketPath, spooled, random, signal: stopped.signal });
      await Promise.race([sleep(partMs), working]);
      if (end === 'SIGUSR2') await agent.kill(end);
      stopped.abort();
      await Promise.all([working, outages]);
      if (end === 'SIGTERM') await agent.kill(end);
    } finally {
      await agent.kill('SIGKILL');
    }
  }
}

type Kind = 'claim' | 'completion' | 'sample' | 'event';

/** What the spool must keep: from the agent's answer until the service has the record. Either can come first. */
class Spooled {
  readonly #facts: Facts;
  readonly #kept = new Map<string, Fact>();
  readonly #delivered = new Set<string>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  answered(kind: Kind, id: string, key = id): void {
    if (this.#delivered.has(`${kind} ${id}`)) return;
    this.#kept.set(`${kind} ${id}`, this.#facts.answered(kind, key));
  }

  delivered(kind: Kind, id: string): void {
    this.#delivered.add(`${kind} ${id}`);
    const fact = this.#kept.get(`${kind} ${id}`);
    if (fact === undefined) return;
    this.#facts.end(fact);
    this.#kept.delete(`${kind} ${id}`);
  }
}

async function comeAndGo(
  proxy: ServiceProxy,
  spooled: Spooled,
  signal: AbortSignal,
): Promise<void> {
  const isOver = () => signal.aborted;
  while (!isOver()) {
    proxy.cut();
    await sleep(OUTAGE_MS, null, { signal }).catch(() => {});
    proxy.handle((passing) => pass(passing, spooled));
    await sleep(OUTAGE_MS, null, { signal }).catch(() => {});
  }
}

/** Statuses that say that the service has the record. */
const TAKEN = [200, 201, 202, 409];

/** Hands on a request. What the service has taken may leave the spool. */
async function pass(passing: Passing, spooled: Spooled): Promise<void> {
  const answer = await passing.forward();
  if (TAKEN.includes(answer.status) && passing.method === 'POST') {
    const isBatch = passing.path === '/api/v1/tasks/batch';
    const taken = isBatch ? takenOfBatch(passing.body, answer.body) : recordsIn(passing);
    for (const [kind, id] of taken) spooled.delivered(kind, id);
  }
  passing.response.writeHead(answer.status, answer.headers).end(answer.body);
}

/** The records of a batch that the service has, by the answer to each item. */
function takenOfBatch(request: string, answer: string): [Kind, string][] {
  const { items: sent } = JSON.parse(request) as { items: { id: string; completion?: object }[] };
  const { items: answers } = JSON.parse(answer) as { items: { status: number }[] };
  return sent.flatMap(({ id, completion }, i): [Kind, string][] => {
    if (!TAKEN.includes(answers[i]?.status ?? 0)) return [];
    return completion ? completed(id) : [['claim', id]];
  });
}

/** The service has the claim of a task when it takes the completion. */
function completed(id: string): [Kind, string][] {
  return [
    ['completion', id],
    ['claim', id],
  ];
}

function recordsIn({ path: where, body }: Passing): [Kind, string][] {
  const taskId = /^\/api\/v1\/tasks\/([^/]+)\/complete$/.exec(where)?.[1];
  if (taskId !== undefined) return completed(taskId);
  const { id = '', samples = [{ id }] } = JSON.parse(body || '{}') as {
    id?: string;
    samples?: { id: string }[];
  };
  if (where === '/api/v1/tasks') return [['claim', id]];
  if (where === '/api/v1/events') return [['event', id]];
  if (where === '/api/v1/telemetry') return samples.map((sample) => ['sample', sample.id]);
  return [];
}

interface Shift {
  socketPath: string;
  spooled: Spooled;
  random: Random;
  signal: AbortSignal;
}

/** Resolves when `signal` has fired and every call under way has its answer, or none. */
async function work(shift: Shift): Promise<void> {
  const { signal } = shift;
  /** Samples and events that were answered; the next durable answer makes them durable too. */
  const lingering: [Kind, string][] = [];
  const repeat = async (step: () => Promise<void>) => {
    while (!signal.aborted) await step();
  };
  await Promise.all([
    repeat(() => deliver(shift, lingering)),
    repeat(() => deliver(shift, lingering)),
    repeat(() => record(shift, lingering)),
    repeat(() => report(shift, lingering)),
  ]);
}

/** The answer's status; 0 where the agent was killed. */
async function ask({ socketPath }: Shift, where: string, body: object): Promise<number> {
  const reply = await callLocally({ socketPath }, 'POST', where, { body }).catch(() => null);
  return reply?.status ?? 0;
}

/** A claim and a completion. Each is durable when it is answered, with all samples and events answered before it was asked. */
async function deliver(shift: Shift, lingering: [Kind, string][]): Promise<void> {
  const { spooled } = shift;
  const id = randomUUID();
  const accepted = async (where: string, body: object) => {
    await sleep(shift.random.between(0, 40));
    const before = lingering.splice(0);
    const status = await ask(shift, where, body);
    if (status !== 201 && status !== 202) return false;
    for (const [kind, one] of before) spooled.answered(kind, one);
    return true;
  };
  if (await accepted('/api/v1/tasks', { id, title: 'Sort the parcels' })) {
    spooled.answered('claim', id);
  }
  const proof = { run: id };
  if (await accepted(`/api/v1/tasks/${id}/complete`, { proof })) {
    spooled.answered('completion', id, `${id} ${hashProof(proof)}`);
  }
  await sleep(shift.random.between(50, 400));
}

async function record(shift: Shift, lingering: [Kind, string][]): Promise<void> {
  const samples = Array.from({ length: shift.random.between(1, 20) }, (_, n) => ({
    id: randomUUID(),
    recorded_at: new Date().toISOString(),
    metrics: { n },
  }));
  const status = await ask(shift, '/api/v1/telemetry', { samples });
  if (status === 201) {
    for (const { id } of samples) lingering.push(['sample', id]);
  }
  await sleep(shift.random.between(0, 40));
}

async function report(shift: Shift, lingering: [Kind, string][]): Promise<void> {
  const id = randomUUID();
  const status = await ask(shift, '/api/v1/events', { id, event_type: 'info' });
  if (status === 201) lingering.push(['event', id]);
  await sleep(shift.random.between(20, 200));
}
