import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/client/client.ts';
import { spawnAgent } from '../support/agent-process.ts';
import { startTestChain } from '../support/anvil.ts';
import { callLocally } from '../support/local-call.ts';
import { robotClient, signInAt } from '../support/server-process.ts';
import { type ServiceProxy, startServiceProxy } from '../support/service-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { auditAgent } from './agent-audit.ts';
import { type RobotLoad, startRobotPrograms } from './agent-load.ts';
import { type Random, randomOf } from './random.ts';
import { openSite } from './server-series.ts';

export interface AgentChaos {
  seed: string;
  /** Of agent and service together. */
  kills: number;
  /** Longest time between two kills. */
  pauseMs: number;
  /** Age at which an answered sample or event must outlive a kill; Infinity on a machine of unknown speed. */
  durableMs: number;
  onKill?: (kill: { number: number; of: 'agent' | 'service' }) => void;
}

export interface AgentChaosReport {
  kills: { agent: number; service: number };
  completions: number;
  samples: number;
  events: number;
  answers: Record<string, number>;
  violations: string[];
}

/** Kills by their number, over and over; every other is at an instant that nothing but chance decides. */
const ROUND = 8;
const places = { service: 0, dark: 4, aimed: [2, 6] };
/** How long an aimed kill waits for a completion to be answered. */
const AIMED_MS = 3_000;
/** How long no service is there, and no task comes, before a kill in the dark. */
const DARK_MS = 2_500;
/** What the network takes of each way at most, and the part of the answers that it loses. */
const NETWORK_MS = 150;
const LOST = 0.2;
/** Ends what hangs; how long it takes says nothing. */
const DRAIN_MS = 1_800_000;

/**
 * A robot's programs at work at an agent that delivers to a service on a local chain, both killed at random
 * instants, then compares all answers with the service and the chain.
 */
export async function runAgentChaos({
  seed,
  kills,
  pauseMs,
  durableMs,
  onKill,
}: AgentChaos): Promise<AgentChaosReport> {
  const random = randomOf(seed);
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-agent-chaos-'));
  const chain = await startTestChain({ blockTime: 1 });
  const site = openSite();
  const serve = () =>
    site.start({
      dataDir: path.join(folder, 'data'),
      rpcUrl: chain.url,
      environment: {
        SVC_SIGNUP_ANCHORS: '1000000',
        SVC_SIGNUP_GAS_WEI: `${10n ** 24n}`,
        SVC_LOG_LEVEL: 'silent',
      },
    });
  let service = serve();
  const proxy = await startServiceProxy(await service.url);
  const { session } = await signInAt(await service.url);
  const owner = createClient({ baseUrl: proxy.url, fetch, credential: { session } });
  const { robot, api_key: apiKey = '' } = (
    await owner.call('createRobot', { body: { name: 'arm' } })
  ).body;
  const socketPath = path.join(folder, 'agent.sock');
  await writeFile(path.join(folder, 'key'), apiKey, { mode: 0o600 });
  const env = {
    SVC_AGENT_URL: proxy.url,
    SVC_AGENT_KEY_FILE: path.join(folder, 'key'),
    SVC_AGENT_STATE_DIR: path.join(folder, 'state'),
    SVC_AGENT_SOCKET: socketPath,
    SVC_AGENT_LOG_LEVEL: 'info',
  };
  beUnreliable(proxy, random);
  let agent = await spawnAgent(env);
  const load = startRobotPrograms(socketPath, random);
  const killedAt: number[] = [];
  const report = { agent: 0, service: 0 };
  try {
    for (let number = 1; number <= kills; number++) {
      await sleep(random.between(0, pauseMs));
      const place = number % ROUND;
      const of = place === places.service ? 'service' : 'agent';
      if (of === 'agent') {
        if (places.aimed.includes(place)) await completionAnswered(load);
        const isDark = place === places.dark && Number.isFinite(durableMs);
        if (isDark) await goDark(proxy, load);
        killedAt.push(performance.now());
        await agent.kill('SIGKILL');
        if (isDark) load.rest(false);
        beUnreliable(proxy, random);
        agent = await spawnAgent(env);
      } else {
        await service.kill('SIGKILL');
        service = serve();
        proxy.redirect(await service.url);
      }
      report[of] += 1;
      onKill?.({ number, of });
    }
    await load.stop();
    proxy.restore();
    const undelivered = await untilDrained(socketPath);
    const { promises } = load;
    const faults = await auditAgent({
      rpcUrl: chain.url,
      robotId: robot.id,
      owner,
      robot: robotClient(await service.url, apiKey),
      promises,
      kills: killedAt,
      durableMs,
    });
    return {
      kills: report,
      completions: promises.completions.size,
      samples: promises.samples.size,
      events: promises.events.size,
      answers: Object.fromEntries(promises.answers),
      violations: [...undelivered, ...faults],
    };
  } finally {
    await load.stop();
    await agent.kill('SIGKILL');
    await service.kill('SIGKILL');
    await site.close();
    await proxy.close();
    await chain.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A network that takes its time and loses answers, so that kills meet calls that are under way. */
function beUnreliable(proxy: ServiceProxy, random: Random): void {
  proxy.handle(async ({ forward, response }) => {
    await sleep(random.between(0, NETWORK_MS));
    const { status, headers, body } = await forward();
    await sleep(random.between(0, NETWORK_MS));
    if (random.chance(LOST)) throw new Error('Lost on the way');
    response.writeHead(status, headers).end(body);
  });
}

async function goDark(proxy: ServiceProxy, load: RobotLoad): Promise<void> {
  load.rest(true);
  proxy.cut();
  await sleep(DARK_MS);
}

export async function completionAnswered(load: RobotLoad): Promise<void> {
  await load.nextCompletion(AbortSignal.timeout(AIMED_MS)).catch(() => {});
}

/** What the agent says of itself if it does not deliver all. */
export async function untilDrained(socketPath: string): Promise<string[]> {
  const status = async () => (await callLocally({ socketPath }, 'GET', '/api/v1/status')).body;
  const isDrained = async () =>
    Object.values<{ count: number }>((await status()).queues).every(({ count }) => count === 0);
  try {
    await waitFor('the delivery', isDrained, DRAIN_MS);
    return [];
  } catch {
    return [`not delivered: ${JSON.stringify(await status())}`];
  }
}
