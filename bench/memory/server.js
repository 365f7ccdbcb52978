import { setTimeout as sleep } from 'node:timers/promises';
import { complete, connect } from '../anchor/load.js';
import { sized } from '../quick.js';
import { callsPerSecond, inTurn, post } from '../service/calls.js';
import { SAMPLES_PER_REQUEST, sampleAt } from '../service/telemetry.js';
import { openSite } from '../site.js';
import { watchMemory } from './trend.js';

const REST_SECONDS = sized(30, 1);
const TOP_SECONDS = sized(15, 1);
const ROBOTS = 1000;
const CONNECTIONS = 64;
/** Robots that hand in a proof, wait for its receipt, and hand in the next. */
const ANCHORING = 32;

/** A server that follows a chain and is asked nothing. */
export async function restOfServer() {
  const site = await openSite({ blockTime: 1, robots: 1, environment: {} });
  try {
    await sleep(REST_SECONDS * 1000);
    return await site.residentMb();
  } finally {
    await site.close();
  }
}

/** Claims and telemetry by turns at half the top rate, and proofs that are anchored all the time. */
export async function soakServer(minutes) {
  const site = await openSite({ blockTime: 1, robots: ROBOTS, environment: {} });
  try {
    const next = mixed(site.robots);
    const load = { url: site.url, connections: CONNECTIONS, expected: 201, next };
    const { perSecond: topPerSecond } = await callsPerSecond({ ...load, seconds: TOP_SECONDS });
    const seconds = minutes * 60;
    const anchoring = keepAnchoring(site, seconds);
    const { result, memory } = await watchMemory(
      site.residentMb,
      callsPerSecond({ ...load, seconds, warmUpSeconds: 0, mostPerSecond: topPerSecond / 2 }),
    );
    await anchoring;
    return { unit: 'requests per second', topPerSecond, perSecond: result.perSecond, memory };
  } finally {
    await site.close();
  }
}

function mixed(robots) {
  const robot = inTurn(robots);
  const claim = JSON.stringify({ title: 'Carry parcel 17 to bay C7' });
  let sent = 0;
  return () => {
    sent += 1;
    const { apiKey } = robot();
    if (sent % 2 === 0) return post('/api/v1/tasks', apiKey, claim);
    const now = Date.now();
    const samples = Array.from({ length: SAMPLES_PER_REQUEST }, (_, i) => sampleAt(now + i, i));
    return post('/api/v1/telemetry', apiKey, JSON.stringify({ samples }));
  };
}

async function keepAnchoring({ url, robots }, seconds) {
  const end = performance.now() + seconds * 1000;
  const clients = await connect(url, ANCHORING);
  const work = async (client, i) => {
    const { apiKey } = robots[i];
    while (performance.now() < end) {
      const claimed = await client.request(post('/api/v1/tasks', apiKey, '{"title":"carry"}'));
      const { task } = await claimed.body.json();
      await complete(client, apiKey, task.id);
    }
    await client.close();
  };
  await Promise.all(clients.map(work));
}
