import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashProof } from '../../src/proof/hash.ts';
import { callLocally, type LocalReply } from '../support/local-call.ts';
import type { Random } from './random.ts';

/** The answer was given between these, of `performance.now()`: it may be read after the agent's end. */
export interface Answered {
  readonly asked: number;
  readonly read: number;
}

/** What the agent was asked and what it answered, and so promised. */
export interface Promises {
  /** Ids of all samples and events that it was ever given, answered or not. */
  readonly asked: Set<string>;
  /** Proof hashes by task. */
  readonly completions: Map<string, string>;
  readonly samples: Map<string, Answered>;
  readonly events: Map<string, Answered>;
  /**
   * When claims were asked that came to be answered, of `performance.now()`: each made durable what was answered
   * before it.
   */
  readonly commits: number[];
  /** Answers by status; 0 where none came. */
  readonly answers: Map<number, number>;
}

export interface RobotLoad {
  readonly promises: Promises;
  /** Resolves when the next completion is answered. */
  nextCompletion(signal: AbortSignal): Promise<unknown>;
  /** Tasks rest, so that nothing but the agent's own clock makes samples durable. */
  rest(isResting: boolean): void;
  stop(): Promise<void>;
}

export interface Pace {
  /** No samples and events. */
  tasksOnly?: boolean;
  /** Shortest and longest pause between two tasks of a program. */
  restMs?: readonly [number, number];
}

/** Programs of a robot at the agent's socket: each call is made once, and forgotten when no answer comes. */
export function startRobotPrograms(
  socketPath: string,
  random: Random,
  { tasksOnly = false, restMs = [200, 1200] }: Pace = {},
): RobotLoad {
  const answered = new EventEmitter();
  let isResting = false;
  const promises: Promises = {
    asked: new Set(),
    completions: new Map(),
    samples: new Map(),
    events: new Map(),
    commits: [],
    answers: new Map(),
  };
  const stopping = new AbortController();
  const call = async (path: string, body: object): Promise<LocalReply | null> => {
    const reply = await callLocally({ socketPath }, 'POST', path, { body }).catch(() => null);
    const status = reply?.status ?? 0;
    promises.answers.set(status, (promises.answers.get(status) ?? 0) + 1);
    return reply;
  };
  const tasks = async () => {
    if (isResting) return sleep(20);
    const id = randomUUID();
    const claimAsked = performance.now();
    const claimed = await call('/api/v1/tasks', {
      id,
      title: 'Sort the parcels',
      expected_result: { parcels: 3 },
    });
    await sleep(random.between(0, 30));
    if (claimed?.status !== 201) return;
    promises.commits.push(claimAsked);
    const proof = { run: id, picked: random.between(0, 100) };
    const reply = await call(`/api/v1/tasks/${id}/complete`, { proof });
    if (reply?.status === 202) {
      promises.completions.set(id, hashProof(proof));
      answered.emit('completion');
    }
    await sleep(random.between(...restMs));
  };
  const telemetry = async () => {
    const recorded_at = new Date().toISOString();
    const samples = Array.from({ length: random.between(1, 20) }, (_, n) => ({
      id: randomUUID(),
      recorded_at,
      metrics: { n },
    }));
    const asked = performance.now();
    for (const { id } of samples) promises.asked.add(id);
    const reply = await call('/api/v1/telemetry', { samples });
    const times = { asked, read: performance.now() };
    for (const { id } of samples) {
      if (reply?.status === 201) promises.samples.set(id, times);
    }
    await sleep(random.between(10, 150));
  };
  const events = async () => {
    const id = randomUUID();
    const asked = performance.now();
    promises.asked.add(id);
    const reply = await call('/api/v1/events', { id, event_type: 'info' });
    if (reply?.status === 201) promises.events.set(id, { asked, read: performance.now() });
    await sleep(random.between(100, 600));
  };
  const forever = async (work: () => Promise<void>) => {
    while (!stopping.signal.aborted) await work();
  };
  const records = tasksOnly ? [] : [telemetry, events];
  const running = Promise.all([tasks, tasks, ...records].map(forever));
  return {
    promises,
    rest(whether) {
      isResting = whether;
    },
    nextCompletion: (signal) => once(answered, 'completion', { signal }),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
