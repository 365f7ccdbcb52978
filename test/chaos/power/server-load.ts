/** Accounts and robots at work on a recorded server, and the facts that its answers promise. */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { keccak256 } from 'viem';
import { SvcError } from '../../../src/base/svc-error.ts';
import { createClient } from '../../../src/client/client.ts';
import { hashProof } from '../../../src/proof/hash.ts';
import { hashToken } from '../../../src/server/core/sessions.ts';
import { anvilAccounts, startTestChain } from '../../support/anvil.ts';
import { run, startServerProgram } from '../../support/programs.ts';
import { type RpcProxy, startRpcProxy } from '../../support/rpc-proxy.ts';
import { robotClient, signInAt } from '../../support/server-process.ts';
import type { Random } from '../random.ts';
import { Facts } from './facts.ts';
import type { Journal } from './journal.ts';

export interface LoadOptions {
  journal: Journal;
  /** The watched folder. */
  root: string;
  /** How long each of the three parts of the load lasts, in ms. */
  partMs: number;
  random: Random;
}

const ROBOTS = 4;

/**
 * Runs the server three times on one database. The first run kills itself between a write and its sync, the others end
 * cleanly. Afterwards nothing writes to the database any more.
 */
export async function loadServer({ journal, root, partMs, random }: LoadOptions): Promise<Facts> {
  const facts = new Facts(journal.position);
  const chain = await startTestChain({ blockTime: 1 });
  const node = await startRpcProxy(chain.url);
  noteBroadcasts(node, facts);
  const env = {
    SVC_DATA_DIR: path.join(root, 'data'),
    SVC_CHAIN_RPC_URL: node.url,
    SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
    SVC_SIGNUP_ANCHORS: '1000000',
    SVC_SIGNUP_GAS_WEI: `${10n ** 24n}`,
    SVC_DISK_MIN_FREE_MB: '0',
    SVC_LOG_LEVEL: 'info',
  };
  try {
    for (const end of ['SIGUSR2', 'SIGTERM', 'SIGTERM'] as const) {
      await withServer({ ...env, ...journal.environment }, async (url, child) => {
        const stopped = new AbortController();
        const working = untilKilled(
          work({ url, facts, random, env, journal, signal: stopped.signal }),
        );
        // Awaited below, after the end of the server.
        working.catch(() => {});
        await Promise.race([sleep(partMs), working]);
        const isKilled = end === 'SIGUSR2';
        if (isKilled) await ended(child, end);
        stopped.abort();
        await working;
        if (!isKilled) await ended(child, end);
      });
    }
    return facts;
  } finally {
    await node.close();
    await chain.close();
  }
}

/** Runs `svc-server start` until `work` has ended. */
export async function withServer(
  env: Record<string, string>,
  work: (url: string, child: ChildProcess) => Promise<void>,
): Promise<void> {
  const { url, child } = await startServerProgram(env);
  try {
    await work(url, child);
  } finally {
    child.kill('SIGKILL');
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** Whatever a node is given must be stored, or a nonce could be signed twice. */
function noteBroadcasts(node: RpcProxy, facts: Facts): void {
  node.handle(async ({ calls, forward, answer }) => {
    for (const { method, params } of calls) {
      if (method !== 'eth_sendRawTransaction') continue;
      facts.answered('broadcast', keccak256(params[0] as `0x${string}`));
    }
    answer(await forward(calls));
  });
}

interface Shift {
  url: string;
  facts: Facts;
  random: Random;
  env: Record<string, string>;
  journal: Journal;
  signal: AbortSignal;
}

/** Resolves when `signal` has fired and every call under way has its answer, or none. */
async function work(shift: Shift): Promise<void> {
  const { url, facts } = shift;
  const { owner, session, wallet } = await signInAt(url);
  facts.answered('account', wallet.toLowerCase());
  facts.answered('session', hashToken(session));
  const robots = await Promise.all(
    Array.from({ length: ROBOTS }, async (_, i) => {
      const { body } = await owner.call('createRobot', { body: { name: `arm ${i}` } });
      facts.answered('robot', body.robot.id);
      facts.answered('robot key', `${body.robot.id} ${hashToken(String(body.api_key))}`);
      return { id: body.robot.id, robot: robotClient(url, String(body.api_key)) };
    }),
  );
  await Promise.all([
    ...robots.flatMap(({ id, robot }) => [
      repeat(shift, () => deliver(shift, owner, robot)),
      repeat(shift, () => record(shift, robot, id)),
      repeat(shift, () => report(shift, robot, id)),
    ]),
    repeat(shift, () => administer(shift, owner)),
    repeat(shift, () => signInAndOut(shift)),
    repeat(shift, () => grant(shift, wallet)),
  ]);
}

async function repeat({ signal }: Shift, step: () => Promise<void>): Promise<void> {
  await untilKilled(
    (async () => {
      while (!signal.aborted) await step();
    })(),
  );
}

/** A call without an answer ends the work: the server was killed. Any other failure counts. */
async function untilKilled(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof SvcError && error.code === 'service_unreachable')) throw error;
  }
}

type Owner = ReturnType<typeof createClient>;

async function deliver({ facts, random }: Shift, owner: Owner, robot: Owner): Promise<void> {
  const id = randomUUID();
  await robot.call('createTask', { body: { id, title: `Parcel ${id}` } });
  facts.answered('task', id);
  const proof = { run: id, log: 'x'.repeat(random.between(0, 4000)) };
  await robot.call('completeTask', { params: { id }, body: { proof } });
  facts.answered('completion', `${id} ${hashProof(proof)}`);
  facts.answered('receipt', id);
  const evidence = facts.answered('evidence', id);
  if (random.chance(0.7)) return;
  facts.end(evidence);
  await owner.call('eraseProof', { params: { id } });
  facts.answered('erasure', id);
}

async function record({ facts, random }: Shift, robot: Owner, robotId: string): Promise<void> {
  const samples = Array.from({ length: random.between(1, 50) }, (_, n) => ({
    id: randomUUID(),
    recorded_at: new Date().toISOString(),
    state: random.pick(['idle', 'busy']),
    metrics: { n, note: 'y'.repeat(random.between(0, 500)) },
  }));
  await robot.call('recordSamples', { body: { samples } });
  for (const { id } of samples) facts.answered('sample', `${robotId} ${id}`);
  await sleep(random.between(100, 300));
}

async function report({ facts, random }: Shift, robot: Owner, robotId: string): Promise<void> {
  const id = randomUUID();
  await robot.call('createEvent', { body: { id, event_type: 'info', message: 'Lane is free' } });
  facts.answered('event', `${robotId} ${id}`);
  await sleep(random.between(100, 300));
}

/** The life of a robot from its creation to its deletion. */
async function administer({ facts, random }: Shift, owner: Owner): Promise<void> {
  const { fleet } = (await owner.call('createFleet', { body: { name: 'night' } })).body;
  facts.answered('fleet', fleet.id);
  const { robot, api_key: first = '' } = (await owner.call('createRobot', { body: { name: 'a' } }))
    .body;
  const params = { id: robot.id };
  const created = facts.answered('robot', robot.id);
  const firstKey = facts.answered('robot key', `${robot.id} ${hashToken(first)}`);
  await owner.call('patchRobot', { params, body: { name: 'b', fleet_id: fleet.id } });
  const named = facts.answered('robot name', `${robot.id} b`);
  facts.end(firstKey);
  const { api_key: second } = (await owner.call('rotateKey', { params })).body;
  facts.answered('ended key', hashToken(first));
  const secondKey = facts.answered('robot key', `${robot.id} ${hashToken(second)}`);
  if (random.chance(0.5)) {
    for (const fact of [created, named, secondKey]) facts.end(fact);
    await owner.call('deleteRobot', { params });
    facts.answered('deleted robot', robot.id);
    facts.answered('ended key', hashToken(second));
  }
  await sleep(random.between(200, 700));
}

async function signInAndOut({ url, facts, random }: Shift): Promise<void> {
  const { session, wallet } = await signInAt(url);
  facts.answered('account', wallet.toLowerCase());
  const open = facts.answered('session', hashToken(session));
  if (random.chance(0.5)) {
    facts.end(open);
    await createClient({ baseUrl: url, fetch, credential: { session } }).call('signOut', {});
    facts.answered('ended session', hashToken(session));
  }
  await sleep(random.between(500, 1500));
}

/** From a second process beside the server. */
async function grant({ facts, env, journal, random }: Shift, wallet: string): Promise<void> {
  const id = randomUUID();
  const options = ['--anchors', '1', '--note', 'invoice', '--id', id];
  const { exitCode, stderr } = await run('svc-server', ['credits', 'grant', wallet, ...options], {
    env: { ...env, ...journal.environment },
  });
  if (exitCode !== 0) throw new Error(`svc-server credits grant: ${stderr}`);
  facts.answered('grant', id);
  await sleep(random.between(1000, 3000));
}
