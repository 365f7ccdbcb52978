import { v7 as newId } from 'uuid';
import { createClient } from '../../dist/client/client.js';
import { limits } from '../../dist/protocol/limits.js';
import { sized } from '../quick.js';
import { openSite } from '../site.js';
import { callsPerSecond, post } from './calls.js';

const CONNECTIONS = 128;
/** Each may make 600 calls a minute. */
const ROBOTS = 1000;
/** More than any database accepts. */
const MOST_PER_SECOND = 4000;
const WARM_UP_SECONDS = sized(3, 0.2);

const proof = { parcels: 1, bay: 'C7', photo: 'a'.repeat(200) };

/** Completions a second that are queued durably and answered with a promise; their tasks are claimed before. */
export async function completionsPerSecond({ seconds, environment, profile }) {
  const accepts = { ...environment, SVC_ANCHOR_TIMEOUT_MS: '0' };
  const site = await openSite({
    blockTime: 'manual',
    robots: ROBOTS,
    environment: accepts,
    profile,
  });
  try {
    const perRobot = Math.ceil((MOST_PER_SECOND * (seconds + WARM_UP_SECONDS)) / ROBOTS);
    const waiting = await claimAll(site, perRobot);
    const next = () => {
      const { id, apiKey } = waiting.pop();
      return post(
        `/api/v1/tasks/${id}/complete`,
        apiKey,
        JSON.stringify({ proof: { ...proof, id } }),
      );
    };
    const rate = { warmUpSeconds: WARM_UP_SECONDS, seconds, mostPerSecond: MOST_PER_SECOND };
    const options = { ...rate, url: site.url, connections: CONNECTIONS, expected: 202, next };
    return (await callsPerSecond(options)).perSecond;
  } finally {
    await site.close();
  }
}

/** Claims so many tasks of each robot in batches, and returns them so that robots take turns. */
async function claimAll({ url, robots }, perRobot) {
  const rounds = Array.from({ length: perRobot }, () =>
    robots.map(({ apiKey }) => ({ id: newId(), apiKey })),
  );
  const left = robots.map((_, robot) => rounds.map((round) => round[robot]));
  const work = async () => {
    for (let tasks = left.pop(); tasks !== undefined; tasks = left.pop()) {
      const robot = createClient({ baseUrl: url, fetch, credential: { apiKey: tasks[0].apiKey } });
      for (let i = 0; i < tasks.length; i += limits.batchItems) {
        const claim = { title: 'Carry parcel 17 to bay C7' };
        const items = tasks.slice(i, i + limits.batchItems).map(({ id }) => ({ id, claim }));
        await robot.call('batchTasks', { query: {}, body: { items } });
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return rounds.flat();
}
