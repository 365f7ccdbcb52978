import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/client/client.ts';
import { limits } from '../../src/protocol/limits.ts';
import { anvilAccounts } from '../support/anvil.ts';
import type { Balancer } from '../support/balancer.ts';
import { freePort } from '../support/free-port.ts';
import { startPostgres } from '../support/postgres.ts';
import { run } from '../support/programs.ts';
import {
  type ServerOptions,
  type ServerProcess,
  signInAt,
  spawnServer,
} from '../support/server-process.ts';
import { createDatabase } from '../support/temporary-database.ts';
import { Counts } from './counts.ts';
import { startMinedChain } from './mined-chain.ts';
import { violationsOf } from './outcome.ts';
import { randomOf } from './random.ts';
import { startRobots } from './robots.ts';
import { GRANTED } from './run-resources.ts';
import { sampleViolations, startSamplers } from './samplers.ts';

export interface InstancesPlan {
  readonly seed: string;
  readonly seconds: number;
  /** From one fault to the next. */
  readonly restMs: number;
  /** What is done to them, and how likely each is. */
  readonly faults: Readonly<Record<InstanceFault, number>>;
  /** What stands in front of the instances. */
  readonly balance: (ports: readonly number[]) => Promise<Balancer>;
}

/** `pause`: stopped for longer than its lease, and resumed. `database`: PostgreSQL restarts. */
export type InstanceFault = 'kill' | 'pause' | 'database';

export interface InstancesReport {
  readonly seconds: number;
  readonly faults: Record<string, number>;
  readonly proofs: number;
  readonly samples: number;
  readonly answers: Record<string, number>;
  readonly violations: readonly string[];
  /** Logs; deleted when nothing is wrong. */
  readonly folder: string;
}

const INSTANCES = 3;
const ROBOTS = 20;
const SAMPLERS = 5;
/** Longer than the lease of 15 s. */
const PAUSE_MS = 18_000;
const STALLED_MS = 90_000;
const NOBODYS = '00000000-0000-4000-8000-000000000000';

/**
 * Three instances on one PostgreSQL behind a balancer, with two anchoring keys, under robots at work; one after the
 * other is killed, paused, or loses the database. At the end everything is compared with the chain and the limits.
 */
export async function performInstances(plan: InstancesPlan): Promise<InstancesReport> {
  const random = randomOf(plan.seed);
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-instances-'));
  const log = createWriteStream(path.join(folder, 'servers.log'));
  const postgres = await startPostgres();
  const database = await createDatabase(postgres.url);
  const chain = await startMinedChain(300);
  const ports = await Promise.all(Array.from({ length: INSTANCES }, freePort));
  const balancer = await plan.balance(ports);
  const keys = anvilAccounts.slice(0, 2);
  const environment = {
    SVC_DATABASE_URL: database.url,
    SVC_BASE_URL: balancer.url,
    SVC_ANCHOR_PRIVATE_KEY: keys.map(({ privateKey }) => privateKey).join(),
    SVC_SIGNUP_ANCHORS: String(GRANTED),
    SVC_ANCHOR_TIMEOUT_MS: '2000',
    SVC_ANCHOR_BUMP_AFTER_MS: '1000',
    SVC_LOG_LEVEL: 'info',
  };
  const options = (port: number): ServerOptions => ({
    dataDir: folder,
    rpcUrl: chain.url,
    environment: { ...environment, SVC_PORT: String(port) },
    log,
  });
  const instances: ServerProcess[] = [];
  const faults = new Counts();
  const violations: string[] = [];
  const over = new AbortController();
  try {
    for (const port of ports) instances.push(await spawnServer(options(port)));
    const { owner, session } = await signInAt(balancer.url);
    const register = async (name: string) => {
      const { body } = await owner.call('createRobot', { body: { name } });
      return { id: body.robot.id, apiKey: String(body.api_key) };
    };
    const crew = await Promise.all(Array.from({ length: ROBOTS }, (_, i) => register(`arm-${i}`)));
    const probes = await Promise.all(
      Array.from({ length: SAMPLERS }, (_, i) => register(`probe-${i}`)),
    );
    const greedy = await register('greedy');
    const robots = startRobots({
      site: async () => balancer.url,
      apiKeys: crew.map(({ apiKey }) => apiKey),
      lanes: 3,
      most: 50_000,
      restMs: 200,
      isHasty: true,
      random,
      signal: over.signal,
    });
    const samplers = startSamplers(balancer.url, probes);
    const endsAt = performance.now() + plan.seconds * 1000;
    const limit = limitViolations(balancer.url, greedy.apiKey, () => performance.now() < endsAt);
    while (performance.now() < endsAt) {
      await sleep(plan.restMs);
      const fault = random.weighted(plan.faults);
      faults.add(fault);
      const place = random.between(0, INSTANCES - 1);
      const instance = instances[place];
      const port = ports[place];
      if (instance === undefined || port === undefined) throw new RangeError('No such instance');
      if (fault === 'kill') {
        await instance.kill('SIGKILL');
        instances[place] = await spawnServer(options(port));
      } else if (fault === 'pause') {
        instance.signal('SIGSTOP');
        await sleep(PAUSE_MS);
        instance.signal('SIGCONT');
      } else {
        await postgres.stop('SIGINT');
        await postgres.start();
      }
    }
    violations.push(...(await limit));
    if (
      !(await finished(robots.finish(), () => robots.errands.filter((one) => one.receipt).length))
    ) {
      const open = robots.errands.filter(({ receipt }) => receipt === null).length;
      violations.push(`${open} of ${robots.errands.length} proofs have no receipt`);
    }
    await samplers.finish();
    const reader = createClient({ baseUrl: balancer.url, fetch, credential: { session } });
    violations.push(
      ...(await violationsOf({
        rpcUrl: chain.url,
        senders: keys.map(({ address }) => address),
        owner: reader,
        granted: GRANTED,
        errands: robots.errands,
        isMoved: false,
      })),
      ...(await sampleViolations(reader, samplers.samplers)),
    );
    for (const instance of instances) {
      const exit = await instance.kill('SIGTERM');
      if (exit !== '0') violations.push(`an instance ended with ${exit}`);
    }
    const { exitCode, stdout, stderr } = await run('svc-server', ['check'], {
      env: { SVC_DATABASE_URL: database.url },
    });
    if (exitCode !== 0) violations.push(`svc-server check: ${stdout}${stderr}`);
    const answers = new Counts(robots.answers);
    answers.addAll(samplers.answers);
    return {
      seconds: plan.seconds,
      faults: Object.fromEntries(faults),
      proofs: robots.errands.length,
      samples: samplers.samplers.reduce((sum, { taken }) => sum + taken.size, 0),
      answers: Object.fromEntries(answers),
      violations,
      folder,
    };
  } finally {
    over.abort();
    await Promise.all(instances.map((instance) => instance.kill('SIGKILL')));
    await balancer.close();
    await chain.close();
    await postgres.close();
    log.end();
    await once(log, 'close');
    if (violations.length === 0) await rm(folder, { recursive: true });
  }
}

async function finished(work: Promise<void>, progress: () => number): Promise<boolean> {
  const done = work.then(() => true);
  for (;;) {
    const before = progress();
    const isDone = await Promise.race([done, sleep(STALLED_MS, false, { ref: false })]);
    if (isDone || progress() === before) return isDone;
  }
}

/** More calls than a window allows, from one robot to all instances: no more are let through, and no fewer. */
async function limitViolations(
  url: string,
  apiKey: string,
  goesOn: () => boolean,
): Promise<string[]> {
  const violations: string[] = [];
  const allowed = limits.robotCallsPerWindow;
  while (goesOn()) {
    const { resetMs, met, unanswered } = await burst(url, apiKey, allowed + 100);
    // A burst that went over the end of a window says nothing.
    if (met !== null) {
      if (met > allowed) violations.push(`${met} calls of a window were let through`);
      if (met + unanswered < allowed) {
        violations.push(`${met} calls of a window were let through, ${unanswered} had no answer`);
      }
    }
    await sleep(resetMs + 100);
  }
  return violations;
}

async function burst(url: string, apiKey: string, calls: number) {
  let met = 0;
  let left = calls;
  let unanswered = 0;
  const startedAt = Date.now();
  const limited = async () => {
    while (left-- > 0) {
      // A proxy sends what only reads again, and so it would count twice.
      const response = await fetch(`${url}/api/v1/tasks/${NOBODYS}/complete`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: '{"proof":{}}',
      }).catch(() => null);
      await response?.arrayBuffer().catch(() => null);
      if (response?.status === 404) met += 1;
      else if (response?.status !== 429) unanswered += 1;
    }
  };
  await Promise.all(Array.from({ length: 20 }, limited));
  const isOneWindow = windowEnd() === windowEnd(startedAt);
  return { resetMs: windowEnd() - Date.now(), met: isOneWindow ? met : null, unanswered };
}

/** The database's clock is this machine's. */
function windowEnd(at = Date.now()): number {
  return at - (at % limits.windowMs) + limits.windowMs;
}
