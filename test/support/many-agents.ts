/**
 * A process with many agents, each with a folder and a key of its own. Reads an `AgentsWork` from standard input and
 * writes an `AgentsReport` to standard output once everything is delivered, or the time is up.
 */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { PAUSES } from '../../src/agent/uploads/retry.ts';
import { createTestAgent, type TestAgent } from './agent.ts';

export interface AgentsWork {
  url: string;
  apiKeys: string[];
  samples: number;
  events: number;
  mostMs: number;
}

export interface AgentsReport {
  /** Codes of errors that the agents met. */
  errors: string[];
  /** Records that are not delivered. */
  left: number;
}

const given: AgentsWork = JSON.parse(await text(process.stdin));
const { url } = given;
const agents = await Promise.all(
  given.apiKeys.map((apiKey) => createTestAgent({ url, apiKey, pauses: PAUSES })),
);
for (const agent of agents) await agent.start();
await Promise.all(agents.map(work));
let states = await readStates();
for (const end = performance.now() + given.mostMs; performance.now() < end; ) {
  if (leftIn(states) === 0) break;
  await sleep(1000);
  states = await readStates();
}
const errors = states.flatMap(({ last_error }) => (last_error === null ? [] : [last_error.code]));
const report: AgentsReport = { errors, left: leftIn(states) };
await Promise.all(agents.map((agent) => agent.remove()));
process.stdout.write(`${JSON.stringify(report)}\n`);

async function work(agent: TestAgent): Promise<void> {
  const id = await agent.claim();
  const accepted = [await agent.complete(id, { parcels: 3 })];
  for (let n = 0; n < given.samples; n += 50) {
    accepted.push(await agent.record(Array.from({ length: 50 }, (_, i) => ({ battery_pct: i }))));
  }
  for (let n = 0; n < given.events; n += 1) {
    const body = { event_type: 'info', message: `round ${n}` };
    accepted.push(await agent.call('POST', '/api/v1/events', { body }));
  }
  for (const { status, body } of accepted) {
    if (status >= 300) throw new Error(`An agent refused a record: ${JSON.stringify(body)}`);
  }
}

function readStates() {
  return Promise.all(agents.map((agent) => agent.status()));
}

function leftIn(all: Awaited<ReturnType<typeof readStates>>): number {
  return all.reduce(
    (sum, { queues: { claims, completions, samples, events } }) =>
      sum + claims.count + completions.count + samples.count + events.count,
    0,
  );
}
