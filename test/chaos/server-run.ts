import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StartingServer } from '../support/server-process.ts';
import { disturbChain } from './chain-faults.ts';
import { Counts } from './counts.ts';
import { faultPoints, isUnknownRpcCall } from './fault-points.ts';
import { settleAndCheck } from './final-check.ts';
import { bringAbout, patienceMs } from './kill-occasions.ts';
import { type PlannedKill, planKills } from './kills.ts';
import { disturb } from './provider-faults.ts';
import { type Random, randomOf } from './random.ts';
import { type Robots, startRobots, unexpectedAnswers } from './robots.ts';
import { register, type Stage, setStage } from './run-resources.ts';

export interface RunPlan {
  readonly seed: string;
  readonly run: number;
  readonly kills: number;
  /** Whether providers and chain misbehave as well. */
  readonly rpcFaults: boolean;
  /** Most blocks that are replaced at once. */
  readonly deepestReorg: number;
  /** The server of PostgreSQL that databases are made on; null for SQLite. */
  readonly postgresUrl: string | null;
}

export interface RunReport {
  readonly run: number;
  /** Where servers were killed: a fault point, or `instant`. */
  readonly kills: Counts;
  /** What providers and chain did wrong. */
  readonly faults: Counts;
  readonly answers: Counts;
  readonly proofs: number;
  readonly violations: readonly string[];
  /** Database and log; deleted when nothing is wrong. */
  readonly folder: string;
}

/** Deeper than any reorganisation here. */
const FINALITY_DEPTH = 8;

/** From one proof at a time to batches that take several commits to settle. */
const crews = [
  { robots: 1, lanes: 1, batchMax: 1024 },
  { robots: 4, lanes: 3, batchMax: 1 },
  { robots: 6, lanes: 4, batchMax: 5 },
  { robots: 12, lanes: 4, batchMax: 1024 },
  { robots: 100, lanes: 3, batchMax: 1024 },
];

/** Kills servers one after another while robots work, and compares everything with the chain at the end. */
export async function performRun(plan: RunPlan): Promise<RunReport> {
  const { run } = plan;
  const random = randomOf(`${plan.seed}/${run}/settings`);
  const crew = random.pick(crews);
  const stage = await setStage(`${plan.seed}/${run}`, {
    providers: plan.rpcFaults ? random.between(1, 3) : 1,
    postgresUrl: plan.postgresUrl,
    environment: {
      SVC_ANCHOR_FINALITY_DEPTH: String(FINALITY_DEPTH),
      SVC_ANCHOR_BATCH_MAX: String(crew.batchMax),
    },
  });
  const [kills, faults, violations] = [new Counts(), new Counts(), [] as string[]];
  const over = new AbortController();
  let robots: Robots | null = null;
  try {
    const first = stage.site.start(stage.server);
    const { session, apiKeys } = await register(await first.url, crew.robots);
    robots = startRobots({
      site: stage.site.url,
      apiKeys,
      lanes: crew.lanes,
      most: 2_000,
      restMs: random.pick([0, 50, 300]),
      isHasty: false,
      random: stage.random,
      signal: over.signal,
    });
    const calm = plan.rpcFaults ? startFaults(stage, plan, faults) : async () => {};
    await sleep(random.between(0, 1_000));
    await first.kill('SIGKILL');
    await stage.endLeases();
    kills.add('instant');
    await killServers(stage, plan, { kills, violations });
    await calm();
    const server = stage.site.start(stage.server);
    const isMoved = plan.rpcFaults && plan.deepestReorg > 0;
    violations.push(...(await settleAndCheck(stage, { server, robots, session }, isMoved)));
    violations.push(...unexpectedAnswers(robots.answers, { isKilled: true }));
  } catch (error) {
    violations.push(`the run ended: ${error instanceof Error ? error.stack : error}`);
  } finally {
    over.abort();
    await stage.close(violations.length > 0);
  }
  const { folder } = stage;
  if (violations.length === 0) await rm(folder, { recursive: true });
  const { errands, answers } = robots ?? { errands: [], answers: new Counts() };
  return { run, kills, faults, answers, proofs: errands.length, violations, folder };
}

/** Answers what ends them. */
function startFaults(stage: Stage, plan: RunPlan, faults: Counts): () => Promise<void> {
  const { chain, proxies, foundation } = stage;
  const senders = stage.accounts.map(({ address }) => address);
  const calm = new AbortController();
  const { signal } = calm;
  const chanceOf = (what: string) => randomOf(`${plan.seed}/${plan.run}/${what}`);
  const met = (fault: string) => faults.add(fault);
  const deepest = plan.deepestReorg;
  const disturbers = [
    ...proxies.map((proxy, i) => disturb(proxy, chanceOf(`provider ${i}`), { met, signal })),
    disturbChain(chain, chanceOf('chain'), { foundation, deepest, senders, met, signal }),
  ];
  return async () => {
    calm.abort();
    await Promise.all(disturbers);
  };
}

interface Found {
  readonly kills: Counts;
  readonly violations: string[];
}

async function killServers(
  stage: Stage,
  plan: RunPlan,
  { kills, violations }: Found,
): Promise<void> {
  const random = randomOf(`${plan.seed}/${plan.run}/instants`);
  for (const kill of planKills(plan.seed, plan.run, plan.kills)) {
    const server = startDoomed(stage, kill, random);
    const instant = { ms: random.between(0, 1_500), isEarly: random.chance(0.3) };
    const at = await awaitKill(stage, server, kill, instant);
    await stage.endLeases();
    if (at !== null) kills.add(at);
    const unknown = [...server.passed].filter(isUnknownRpcCall);
    if (unknown.length > 0) violations.push(`no fault point for ${unknown.join()}`);
  }
}

function startDoomed(
  { site, server, privateKeys }: Stage,
  { point, count }: PlannedKill,
  random: Random,
): StartingServer {
  // A key that is left out is a retired one: what it signed is followed without it.
  const keys = random.chance(0.2) ? [random.pick(privateKeys)] : privateKeys;
  const environment = { ...server.environment, SVC_ANCHOR_PRIVATE_KEY: keys.join() };
  const crash = point === null ? {} : { crash: { at: point, count } };
  return site.start({ ...server, environment, ...crash });
}

/** Where it was killed; null when it stopped as it was told to. */
async function awaitKill(
  stage: Stage,
  server: StartingServer,
  { point }: PlannedKill,
  instant: { ms: number; isEarly: boolean },
): Promise<string | null> {
  const over = new AbortController();
  const isPlaced = point !== null;
  if (isPlaced || !instant.isEarly) await Promise.race([server.url.catch(() => {}), server.ended]);
  const occasion = faultPoints.get(point ?? '') ?? 'work';
  const limitMs = isPlaced ? patienceMs[occasion] : instant.ms;
  const timer = setTimeout(() => server.kill('SIGKILL'), limitMs);
  const brought = bringAbout(occasion, stage, server, over.signal);
  const how = await server.ended;
  clearTimeout(timer);
  over.abort();
  await brought;
  return how === 'SIGKILL' ? (server.killedAt() ?? 'instant') : null;
}
