import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import { newId } from '../../dist/base/new-id.js';
import { post } from '../service/calls.js';

/** Tasks in one call of the batch route. */
export const BATCH_ITEMS = 50;

/** Connections while robots make ready; a listening socket refuses too many that come in the same moment. */
const AT_ONCE = 64;

/**
 * Claims tasks for each robot beforehand, so that a run is of completions alone.
 *
 * @param {{ url: string, robots: { apiKey: string }[] }} site
 * @param {number} perRobot
 */
export async function claimTasks({ url, robots: all }, perRobot) {
  const robots = all.map(({ apiKey }) => ({ apiKey, tasks: [] }));
  const calls = Math.ceil(perRobot / BATCH_ITEMS);
  const claims = Array.from({ length: calls }, () => robots).flat();
  const claim = async () => {
    const client = new Client(url);
    for (let robot = claims.pop(); robot !== undefined; robot = claims.pop()) {
      const left = Math.min(BATCH_ITEMS, perRobot - robot.tasks.length);
      const ids = Array.from({ length: left }, newId);
      robot.tasks.push(...ids);
      const items = ids.map((id) => ({ id, claim: { title: 'carry a parcel' } }));
      await batch(client, robot.apiKey, items, 201);
    }
    await client.close();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, claim));
  return robots;
}

/**
 * Robots that each keep `inFlight` calls under way, every one on a connection of its own, until the seconds are over;
 * what is under way then is left. A call completes `perCall` tasks. Only what is answered after `begin` is counted.
 *
 * @template T
 * @param {{ apiKey: string, tasks: string[] }[]} robots
 * @param {{ url: string, inFlight: number, perCall: number, warmUpSeconds: number, seconds: number,
 *   begin: () => Promise<void>, end: () => Promise<T> }} options
 */
export async function runRobots(robots, options) {
  const { url, inFlight, perCall, warmUpSeconds, seconds, begin, end } = options;
  const latenciesMs = [];
  let phase = 'warming up';
  let ranOut = false;
  const work = async ({ apiKey, tasks }, client) => {
    while (phase !== 'over') {
      const ids = tasks.splice(0, perCall);
      ranOut ||= ids.length < perCall;
      if (ids.length < perCall) break;
      const startedAt = performance.now();
      try {
        if (perCall === 1) await complete(client, apiKey, ids[0]);
        else await completeTogether(client, apiKey, ids);
      } catch (error) {
        if (phase === 'over') break;
        throw error;
      }
      if (phase !== 'measured') continue;
      for (const _ of ids) latenciesMs.push(performance.now() - startedAt);
    }
  };
  const clients = await connect(url, robots.length * inFlight);
  const working = clients.map((client, i) => work(robots[i % robots.length], client));
  const broken = Promise.all(working);
  await Promise.race([sleep(warmUpSeconds * 1000), broken]);
  await begin();
  phase = 'measured';
  const startedAt = performance.now();
  await Promise.race([sleep(seconds * 1000), broken]);
  phase = 'over';
  const measuredSeconds = (performance.now() - startedAt) / 1000;
  const measured = await end();
  await Promise.all(clients.map((client) => client.destroy()));
  await broken;
  return { latenciesMs, seconds: measuredSeconds, ranOut, measured };
}

/** Completes every task, in calls of the batch route that wait for their receipts. */
export async function completeAll(url, robots) {
  const clients = await connect(url, robots.length);
  const work = async ({ apiKey, tasks }, i) => {
    while (tasks.length > 0) {
      await completeTogether(clients[i], apiKey, tasks.splice(0, BATCH_ITEMS));
    }
    await clients[i].close();
  };
  await Promise.all(robots.map(work));
}

/** Open connections, each to be used for one request at a time. */
export async function connect(url, count) {
  const clients = Array.from({ length: count }, () => new Client(url, { headersTimeout: 0 }));
  const closed = [...clients];
  const open = async () => {
    for (let client = closed.pop(); client !== undefined; client = closed.pop()) {
      const answer = await client.request({ method: 'GET', path: '/api/chain' });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, open));
  return clients;
}

/** Hands the proof in and waits for its receipt. */
export async function complete(client, apiKey, id) {
  const path = `/api/v1/tasks/${id}/complete`;
  const body = JSON.stringify({ proof: proofOf(id) });
  const { status, text } = await ask(client, post(path, apiKey, body));
  if (status !== 200) throw new Error(`A completion was answered ${status}: ${text}`);
}

/** As `complete`, for several tasks in one call. */
function completeTogether(client, apiKey, ids) {
  const items = ids.map((id) => ({ id, completion: { proof: proofOf(id) } }));
  return batch(client, apiKey, items, 200);
}

function proofOf(task) {
  return { task, picked: 12, distance_m: 3.269, route: ['a1', 'b4', 'c7'] };
}

async function batch(client, apiKey, items, expected) {
  const request = post('/api/v1/tasks/batch', apiKey, JSON.stringify({ items }));
  const { status, text } = await ask(client, request);
  const answers = status === 200 ? JSON.parse(text).items : [];
  if (answers.length === items.length && answers.every((one) => one.status === expected)) return;
  throw new Error(`A batch was answered ${status}: ${text}`);
}

async function ask(client, request) {
  const answer = await client.request(request);
  return { status: answer.statusCode, text: await answer.body.text() };
}
