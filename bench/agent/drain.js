import { setTimeout as sleep } from 'node:timers/promises';
import { askAgent } from '../../dist/agent/commands/local-client.js';
import { createClient } from '../../dist/client/client.js';
import { limits } from '../../dist/protocol/limits.js';
import { sized } from '../quick.js';
import { openSite } from '../site.js';
import { startCallCounter } from './call-counter.js';
import { prepareAgent } from './daemon.js';

const DAY_SAMPLES = sized(86_400, 500);
const TASKS = sized(2_000, 20);
const IDLE_SECONDS = sized(60, 1);
/** Left out of the rate: in the first seconds a burst is allowed. */
const WARM_UP_SECONDS = sized(20, 0);

/**
 * An agent that idles, then one with a day's backlog, against a real service with its ordinary limit; live samples go on
 * at 1 Hz. Without `minutes` until all of it is delivered.
 *
 * @param {number | null} minutes
 */
export async function measureDrain(minutes) {
  const site = await openSite({
    blockTime: 1,
    robots: 1,
    environment: { SVC_ANCHOR_TIMEOUT_MS: '30000' },
  });
  const [robot] = site.robots;
  const line = await startCallCounter(site.url);
  const place = await prepareAgent({ url: line.url, apiKey: robot.apiKey });
  try {
    await fillOffline(place);
    const idleMb = await measureIdle({ url: site.url, apiKey: robot.apiKey });
    const drained = await drain(place, site, robot, minutes);
    return { idleMb, ...drained, calls: line.counts.all, taskCalls: line.counts.tasks };
  } finally {
    await place.remove();
    await line.close();
    await site.close();
  }
}

/** Resident memory with an empty spool, connected, and one sample a second; the most of the second half. */
async function measureIdle(options) {
  const place = await prepareAgent(options);
  try {
    const agent = await place.start();
    const live = startLive(place.socket);
    let most = 0;
    for (let second = 0; second < IDLE_SECONDS; second += 1) {
      await sleep(1000);
      if (second >= IDLE_SECONDS / 2) most = Math.max(most, await agent.residentMb());
    }
    await live.stop();
    await agent.end('SIGTERM');
    return most;
  } finally {
    await place.remove();
  }
}

/** What a robot hands over in a day without a network. */
async function fillOffline(place) {
  const agent = await place.start({ url: 'http://127.0.0.1:9' });
  const post = (path, body) => askAgent(place.socket, 'POST', path, { body: JSON.stringify(body) });
  const started = Date.now() - DAY_SAMPLES * 1000;
  for (let first = 0; first < DAY_SAMPLES; first += 50) {
    const samples = Array.from({ length: 50 }, (_, i) => sampleAt(started + (first + i) * 1000));
    await post('/api/v1/telemetry', { samples });
  }
  for (let i = 0; i < TASKS; i += 1) {
    const { task } = (await post('/api/v1/tasks', { title: `Round ${i}` })).body;
    await post(`/api/v1/tasks/${task.id}/complete`, { proof: { round: i, nonce: task.id } });
  }
  await agent.end('SIGTERM');
}

const sampleAt = (ms) => ({
  battery_pct: 80,
  state: 'busy',
  metrics: { speed_m_s: 0.4, temp_c: 41.5, cpu: 0.37 },
  recorded_at: new Date(ms).toISOString(),
});

function startLive(socket) {
  const stopped = new AbortController();
  const run = async () => {
    while (!stopped.signal.aborted) {
      const body = JSON.stringify(sampleAt(Date.now()));
      await askAgent(socket, 'POST', '/api/v1/telemetry', { body });
      await sleep(1000);
    }
  };
  const running = run();
  return {
    stop() {
      stopped.abort();
      return running;
    },
  };
}

async function drain(place, site, robot, minutes) {
  const owner = createClient({
    baseUrl: site.url,
    fetch,
    credential: { session: robot.session },
  });
  const agent = await place.start();
  const live = startLive(place.socket);
  const startedAt = performance.now();
  const seen = [];
  let [mostMb, behindMs] = [0, 0];
  for (let done = false; !done; ) {
    await sleep(1000);
    const { queues } = await agent.status();
    const atMs = performance.now() - startedAt;
    seen.push({ atMs, left: requestsFor(queues) });
    mostMb = Math.max(mostMb, await agent.residentMb());
    if (atMs > WARM_UP_SECONDS * 1000) behindMs = Math.max(behindMs, await behind(owner, robot));
    const empty =
      queues.samples.count <= 50 && queues.claims.count + queues.completions.count === 0;
    done = empty || (minutes !== null && atMs > minutes * 60_000);
  }
  await live.stop();
  await agent.end('SIGTERM');
  const first = seen.find(({ atMs }) => atMs >= WARM_UP_SECONDS * 1000);
  const last = seen.at(-1);
  const perMinute = ((first.left - last.left) * 60_000) / (last.atMs - first.atMs);
  return {
    seconds: last.atMs / 1000,
    perMinute,
    ofLimit: perMinute / limits.robotCallsPerWindow,
    behindSeconds: behindMs / 1000,
    mostMb,
    left: last.left,
  };
}

/** The fewest requests that deliver what waits. Nearly every claim waits with its completion. */
function requestsFor({ claims, completions, samples, events }) {
  const tasks = Math.max(claims.count, completions.count);
  return tasks / limits.batchItems + events.count + samples.count / limits.samplesPerRequest;
}

/** How far the newest sample that the service has is behind, in milliseconds. */
async function behind(owner, { id }) {
  const { body } = await owner.call('readTelemetry', { params: { id }, query: { limit: '1' } });
  return Date.now() - Date.parse(body.items[0].recorded_at);
}
