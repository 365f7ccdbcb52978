// Kills the primary of a PostgreSQL cluster again and again under robots at work, and then compares everything with the
// chain.
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../../src/client/client.ts';
import { waitFor } from '../../support/wait-for.ts';
import { settleAndCheck } from '../final-check.ts';
import { startRobots, unexpectedAnswers } from '../robots.ts';
import { register, setStage } from '../run-resources.ts';
import { type ClusterKill, startCluster } from './cluster.ts';

export interface FailoverPlan {
  readonly seed: string;
  readonly kills: readonly ClusterKill[];
  readonly onKill?: (kill: ClusterKill, outageMs: number) => void;
}

export interface FailoverReport {
  /** Longest time without a stored write after each kill. */
  readonly outages: readonly { readonly kill: ClusterKill; readonly ms: number }[];
  readonly proofs: number;
  readonly answers: Record<string, number>;
  readonly violations: readonly string[];
}

/** Writes go on within this time. */
const LIMITS_MS: Record<ClusterKill, number> = { postgres: 15_000, patroni: 30_000, node: 30_000 };
/** Ends what hangs; how long it takes says nothing. */
const LONG = 120_000;
const ROBOTS = 20;
const PROBE_MS = 200;

export async function performFailovers(plan: FailoverPlan): Promise<FailoverReport> {
  const cluster = await startCluster();
  const stage = await setStage(`${plan.seed}/failover`, {
    providers: 1,
    postgresUrl: cluster.url,
    environment: { SVC_ANCHOR_TIMEOUT_MS: '2000' },
  });
  const over = new AbortController();
  const outages: { kill: ClusterKill; ms: number }[] = [];
  let violations = ['the campaign did not end'];
  try {
    const server = stage.site.start(stage.server);
    const { session, apiKeys } = await register(await server.url, ROBOTS + 1);
    const [probeKey = '', ...robotKeys] = apiKeys;
    const robots = startRobots({
      site: stage.site.url,
      apiKeys: robotKeys,
      lanes: 2,
      most: 50_000,
      restMs: 500,
      isHasty: true,
      random: stage.random,
      signal: over.signal,
    });
    const probe = startProbe(await server.url, probeKey, over.signal);
    for (const kill of plan.kills) {
      await sleep(stage.random.between(500, 3_000));
      const killedAt = performance.now();
      await cluster.killPrimary(kill);
      const takenOverAt = performance.now();
      await waitFor('a write', () => probe.lastMs() > takenOverAt, LONG);
      await cluster.healthy();
      const ms = Math.round(probe.longestGapMs(killedAt));
      outages.push({ kill, ms });
      plan.onKill?.(kill, ms);
    }
    violations = outages
      .filter(({ kill, ms }) => ms > LIMITS_MS[kill])
      .map(({ kill, ms }) => `no write for ${ms} ms after a kill of ${kill}`);
    violations.push(
      ...(await settleAndCheck(stage, { server, robots, session }, false)),
      ...unexpectedAnswers(robots.answers, { isKilled: true }),
    );
    return {
      outages,
      proofs: robots.errands.length,
      answers: Object.fromEntries(robots.answers),
      violations,
    };
  } finally {
    over.abort();
    await stage.close(false);
    await cluster.close(violations.length > 0);
    if (violations.length === 0) await rm(stage.folder, { recursive: true });
  }
}

/** Claims a task, one after the other; the time of a stored one is when its request began. */
function startProbe(url: string, apiKey: string, signal: AbortSignal) {
  const stored: number[] = [];
  const client = createClient({
    baseUrl: url,
    credential: { apiKey },
    fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(3_000) }),
  });
  void (async () => {
    while (!signal.aborted) {
      const at = performance.now();
      const answer = await client
        .call('createTask', { body: { title: 'probe' } })
        .catch(() => null);
      if (answer !== null) stored.push(at);
      await sleep(PROBE_MS);
    }
  })();
  return {
    lastMs: () => stored.at(-1) ?? 0,
    longestGapMs(since: number): number {
      const times = stored.filter((at) => at > since - 10 * PROBE_MS);
      return Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at)));
    },
  };
}
