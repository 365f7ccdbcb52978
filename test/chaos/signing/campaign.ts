// Kills agents, service and database while robots sign their work, and then compares statements, promises and receipts
// with the chain.
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import pg from 'pg';
import { type AgentProcess, spawnAgent } from '../../support/agent-process.ts';
import { startTestChain } from '../../support/anvil.ts';
import { freePort } from '../../support/free-port.ts';
import { callLocally } from '../../support/local-call.ts';
import { startPostgres } from '../../support/postgres.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { type ServerOptions, signInAt } from '../../support/server-process.ts';
import { type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';
import { createDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type RobotLoad, startRobotPrograms } from '../agent-load.ts';
import { completionAnswered, untilDrained } from '../agent-run.ts';
import { type Random, randomOf } from '../random.ts';
import { openSite } from '../server-series.ts';
import { auditSignedWork } from './audit.ts';

export interface SigningPlan {
  readonly seed: string;
  readonly store: 'sqlite' | 'postgres';
  readonly robots: number;
  /** Of agents, service and database together. */
  readonly kills: number;
  /** Longest time between two kills. */
  readonly pauseMs: number;
  readonly onKill?: (kill: { number: number; of: Victim }) => void;
}

type Victim = 'agent' | 'service' | 'database';

export interface SigningReport {
  readonly store: string;
  readonly kills: Record<Victim, number>;
  readonly statements: number;
  readonly completions: number;
  readonly promises: number;
  readonly violations: readonly string[];
  /** Spools and logs; deleted when nothing is wrong. */
  readonly folder: string;
}

/** What the network takes of each way at most, and the part of the answers that it loses. */
const NETWORK_MS = 100;
const LOST = 0.1;
/** Steps after which a statement, its task or its leaf may exist without the others. */
const POINTS = ['addStatements', 'createTask', 'queueCompletion']
  .flatMap((call) => [`${call}:before`, `${call}:after`])
  .concat('attempt_committed', 'broadcast_sent', 'inclusion_recorded', 'leaves_settled');
/** How long a service may take to get there. */
const AIMED_MS = 8_000;
/** Between two tasks of a program. */
const REST_MS = [1_000, 5_000] as const;
/** Ends what hangs; how long it takes says nothing. */
const LONG = 600_000;

interface SigningRobot {
  readonly name: string;
  readonly apiKey: string;
  readonly socketPath: string;
  readonly env: Record<string, string>;
  agent: AgentProcess;
  readonly load: RobotLoad;
}

export async function runSigningChaos(plan: SigningPlan): Promise<SigningReport> {
  const { seed, store, kills } = plan;
  const random = randomOf(`${seed}/${store}`);
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-signing-'));
  const dataDir = path.join(folder, 'data');
  const chain = await startTestChain({ blockTime: 1 });
  const postgres = store === 'postgres' ? await startPostgres() : null;
  const database = postgres && (await createDatabase(postgres.url));
  // The owner's text names the origin, which must outlive the processes.
  const proxy = await startServiceProxy('http://127.0.0.1:9');
  const site = openSite();
  /** A new one listens at another port, and names the address of the proxy. */
  const serve = async (crash?: ServerOptions['crash']) => {
    const port = await freePort();
    const started = site.start({
      ...(crash && { crash }),
      dataDir,
      rpcUrl: chain.url,
      environment: {
        SVC_PORT: String(port),
        SVC_BASE_URL: proxy.url,
        // Most results are answered before their anchor, with a promise.
        SVC_ANCHOR_TIMEOUT_MS: '200',
        SVC_SIGNUP_ANCHORS: '1000000',
        SVC_SIGNUP_GAS_WEI: `${10n ** 24n}`,
        SVC_LOG_LEVEL: 'silent',
        ...(database && { SVC_DATABASE_URL: database.url }),
      },
    });
    // One with a fault point may end before it listens.
    await started.url.catch(() => {});
    proxy.redirect(`http://127.0.0.1:${port}`);
    return started;
  };
  let service = await serve();
  const user = await createSvcUser(proxy.url);
  const robots: SigningRobot[] = [];
  const promises = new Set<string>();
  const report = { agent: 0, service: 0, database: 0 };
  let violations: string[] = ['the campaign did not end'];
  try {
    await user.signIn();
    for (let n = 0; n < plan.robots; n += 1) {
      robots.push(await startRobot(`arm-${n}`, { url: proxy.url, user, folder, seed, index: n }));
    }
    let isReliable = false;
    carry(proxy, random, promises, () => isReliable);
    const weights = { agent: 8, service: 3, database: store === 'sqlite' ? 0 : 2 };
    for (let number = 1; number <= kills; number += 1) {
      await sleep(random.between(0, plan.pauseMs));
      const of = random.weighted(weights);
      if (of === 'agent') {
        const robot = random.pick(robots);
        // Every other kill is at an instant that nothing but chance decides.
        if (random.chance(0.5)) await completionAnswered(robot.load);
        await robot.agent.kill('SIGKILL');
        robot.agent = await spawnAgent(robot.env);
      } else if (of === 'service') {
        await service.kill('SIGKILL');
        if (random.chance(0.5)) {
          // Every other one ends once more, at a step of its own work.
          const crash = { at: random.pick(POINTS), count: random.between(1, 10) };
          service = await serve(crash);
          await Promise.race([service.ended, sleep(AIMED_MS, null, { ref: false })]);
          await service.kill('SIGKILL');
        }
        service = await serve();
      } else {
        await postgres?.stop('SIGQUIT');
        await postgres?.start();
      }
      report[of] += 1;
      plan.onKill?.({ number, of });
    }
    await Promise.all(robots.map(({ load }) => load.stop()));
    isReliable = true;
    violations = [];
    for (const { socketPath } of robots) violations.push(...(await untilDrained(socketPath)));
    const answered = robots.flatMap(({ load }) => [...load.promises.completions]);
    const audit = await auditSignedWork({
      rpcUrl: chain.url,
      owner: (await signInAt(proxy.url, user.account)).owner,
      user,
      robots: robots.map(({ name }) => name),
      completions: new Map(answered),
      promises: [...promises],
      placedFreeLeaves: () => placedFreeLeaves(dataDir, database?.url),
    });
    violations.push(...audit.violations);
    await service.kill('SIGTERM');
    const check = await runInProcess('svc-server', ['check'], {
      env: { SVC_DATA_DIR: dataDir, ...(database && { SVC_DATABASE_URL: database.url }) },
    });
    if (check.exitCode !== 0) violations.push(`svc-server check: ${check.stdout}${check.stderr}`);
    return {
      store,
      kills: report,
      statements: audit.statements,
      completions: answered.length,
      promises: promises.size,
      violations,
      folder,
    };
  } finally {
    await Promise.all(robots.map(({ load }) => load.stop()));
    await Promise.all(robots.map(({ agent }) => agent.kill('SIGKILL')));
    await service.kill('SIGKILL');
    await site.close();
    await user.remove();
    await proxy.close();
    await database?.drop();
    await postgres?.close();
    await chain.close();
    if (violations.length === 0) await rm(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly url: string;
  readonly user: SvcUser;
  readonly folder: string;
  readonly seed: string;
  readonly index: number;
}

/** With a key that its owner has signed: every other robot has it in a file, the others sign with a command. */
async function startRobot(
  name: string,
  { url, user, folder, seed, index }: Place,
): Promise<SigningRobot> {
  const home = path.join(folder, name);
  await mkdir(home);
  const { api_key: apiKey } = await user.json('robots', 'create', name);
  await writeFile(path.join(home, 'key'), apiKey, { mode: 0o600 });
  const command = index % 2 === 0 ? null : await keyOfCommand(home);
  const socketPath = path.join(home, 'agent.sock');
  const env = {
    SVC_AGENT_URL: url,
    SVC_AGENT_KEY_FILE: path.join(home, 'key'),
    SVC_AGENT_STATE_DIR: path.join(home, 'state'),
    SVC_AGENT_SOCKET: socketPath,
    ...(command && { SVC_AGENT_SIGN_COMMAND: command.line }),
  };
  const create = ['identity', 'create', ...(command ? ['--public-key', command.publicKey] : [])];
  const sign = ['robots', 'sign-key', name, '--key-file', user.keyFile, '--yes'];
  for (const { exitCode, stderr } of [
    await runInProcess('svc-agent', create, { env }),
    await user.svc(sign),
  ]) {
    if (exitCode !== 0) throw new Error(stderr);
  }
  const agent = await spawnAgent(env);
  const isActive = async () =>
    (await callLocally({ socketPath }, 'GET', '/api/v1/status')).body.signing.state === 'active';
  await waitFor('the key in use', isActive, LONG);
  const load = startRobotPrograms(socketPath, randomOf(`${seed}/${index}`), {
    tasksOnly: true,
    restMs: REST_MS,
  });
  return { name, apiKey, socketPath, env, agent, load };
}

async function keyOfCommand(home: string): Promise<{ line: string; publicKey: string }> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [key, pem] = [path.join(home, 'robot.key'), path.join(home, 'robot.pem')];
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await writeFile(pem, publicKey.export({ type: 'spki', format: 'pem' }));
  const line = `openssl dgst -sha256 -sign ${key} | base64 -w0`;
  return { line: JSON.stringify(['sh', '-c', line]), publicKey: pem };
}

/** Takes its time and loses answers, so that kills meet calls that are under way. Keeps each promise that arrives. */
function carry(
  proxy: ServiceProxy,
  random: Random,
  promises: Set<string>,
  isReliable: () => boolean,
) {
  const disturb = async () => {
    if (!isReliable()) await sleep(random.between(0, NETWORK_MS));
  };
  proxy.handle(async ({ forward, response }) => {
    await disturb();
    const { status, headers, body } = await forward();
    await disturb();
    if (!isReliable() && random.chance(LOST)) throw new Error('Lost on the way');
    const [, promise] = /"promise":"([\w.-]+)"/.exec(body) ?? [];
    if (promise !== undefined) promises.add(promise);
    response.writeHead(status, headers).end(body);
  });
}

const PLACED = 'SELECT count(*) AS count FROM free_leaves WHERE attempt_id IS NOT NULL';

async function placedFreeLeaves(dataDir: string, databaseUrl: string | undefined): Promise<number> {
  if (databaseUrl === undefined) {
    const db = new Database(path.join(dataDir, 'svc.db'), { readonly: true });
    const count = db.prepare(PLACED).pluck().get();
    db.close();
    return Number(count);
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query(PLACED);
  await client.end();
  return Number(rows[0].count);
}
