import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../src/base/svc-error.ts';
import type { Client } from '../../src/client/client.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import { robotClient } from '../support/server-process.ts';
import { Counts } from './counts.ts';
import type { Random } from './random.ts';

export interface Errand {
  readonly taskId: string;
  readonly apiKey: string;
  readonly title: string;
  readonly proof: { readonly errand: string; readonly weight: number };
  createdAt: string;
  /** The receipt that the robot was given. */
  receipt: Verification | null;
}

export interface Robots {
  readonly errands: readonly Errand[];
  /** How often each route was answered how: a status, an error code, or `no answer`. */
  readonly answers: Counts;
  /** No robot takes a new task. Resolves once each task that was taken has its receipt. */
  finish(): Promise<void>;
}

export interface Workforce {
  /** Where the server listens; while it is down, once it is up again. */
  readonly site: () => Promise<string>;
  readonly apiKeys: readonly string[];
  /** Tasks that each robot works on at the same time. */
  readonly lanes: number;
  /** Tasks of all of them together. */
  readonly most: number;
  /** Longest rest between two tasks. */
  readonly restMs: number;
  /** Whether a robot takes the next task once its proof is stored, and asks for the receipt at the end. */
  readonly isHasty: boolean;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Between two calls of a robot: it has 600 a minute. */
const CALL_MS = 105;
/** Between two looks at a task, for each that a robot works on. */
const POLL_MS = 130;

/**
 * Robots that claim tasks and hand in proofs until they have the receipt, and repeat what got no answer
 * with the same id and the same evidence.
 */
export function startRobots(workforce: Workforce): Robots {
  const { apiKeys, lanes, most, restMs, isHasty, random, signal } = workforce;
  const errands: Errand[] = [];
  const answers = new Counts();
  let finishing = false;
  const ask = asking(workforce, answers);
  const pollMs = lanes * POLL_MS;
  const work = async (apiKey: string) => {
    const open: Errand[] = [];
    while (!finishing && errands.length < most && !signal.aborted) {
      const errand = newErrand(apiKey, random);
      errands.push(errand);
      await claim(ask, errand);
      if (isHasty) {
        errand.receipt = await handIn(ask, errand, pollMs);
        if (errand.receipt === null) open.push(errand);
      } else {
        errand.receipt = await deliver(ask, errand, pollMs);
      }
      await sleep(random.between(0, restMs));
    }
    for (const errand of open) errand.receipt = await deliver(ask, errand, pollMs);
  };
  const working = Promise.all(
    apiKeys.flatMap((apiKey) => Array.from({ length: lanes }, () => work(apiKey))),
  );
  // The waiting caller gets the error. Until then it must not end the process.
  working.catch(() => {});
  return {
    errands,
    answers,
    async finish() {
      finishing = true;
      await working;
    },
  };
}

function newErrand(apiKey: string, random: Random): Errand {
  const taskId = randomUUID();
  const proof = { errand: taskId, weight: random.between(0, 1_000_000) / 8 };
  return { taskId, apiKey, title: `Parcel ${taskId}`, proof, createdAt: '', receipt: null };
}

/** What came of one request; `answer` is null where the service refused. */
interface Reply<T> {
  readonly code: string;
  readonly answer: T | null;
  readonly details: Record<string, unknown>;
}

type AskOnce = <T>(
  route: string,
  errand: Errand,
  call: (client: Client) => Promise<T>,
) => Promise<Reply<T>>;

function asking({ site, signal }: Workforce, answers: Counts): AskOnce {
  const freeAt = new Map<string, number>();
  /** Resolves when the robot may make a call. */
  const turn = async (apiKey: string) => {
    const now = performance.now();
    const at = Math.max(now, freeAt.get(apiKey) ?? 0);
    freeAt.set(apiKey, at + CALL_MS);
    await sleep(at - now);
  };
  return async (route, errand, call) => {
    await turn(errand.apiKey);
    const url = await site();
    signal.throwIfAborted();
    try {
      const answer = await call(robotClient(url, errand.apiKey));
      const code = String((answer as { status: number }).status);
      answers.add(`${route} ${code}`);
      return { code, answer, details: {} };
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      const code = error.code === 'service_unreachable' ? 'no answer' : error.code;
      answers.add([route, error.details.status ?? [], code].flat().join(' '));
      return { code, answer: null, details: error.details };
    }
  };
}

async function claim(ask: AskOnce, errand: Errand): Promise<void> {
  const { taskId: id, title } = errand;
  for (;;) {
    const { answer } = await ask('createTask', errand, (client) =>
      client.call('createTask', { body: { id, title } }),
    );
    if (answer !== null) {
      errand.createdAt = answer.body.task.created_at;
      return;
    }
    await sleep(50);
  }
}

async function deliver(ask: AskOnce, errand: Errand, pollMs: number): Promise<Verification> {
  for (;;) {
    const receipt = (await handIn(ask, errand, pollMs)) ?? (await poll(ask, errand, pollMs));
    if (receipt !== null) return receipt;
  }
}

/** Hands in the proof until it is stored; answers the receipt if there is one already. */
async function handIn(ask: AskOnce, errand: Errand, pollMs: number): Promise<Verification | null> {
  const { taskId: id, proof } = errand;
  for (;;) {
    const { code, answer, details } = await ask('completeTask', errand, (client) =>
      client.call('completeTask', { params: { id }, body: { proof } }),
    );
    if (answer?.status === 200) return answer.body.verification;
    if (code === 'already_completed') return details.verification as Verification;
    if (['202', 'completion_in_progress'].includes(code)) return null;
    await sleep(code === 'no answer' ? 100 : pollMs); // Only an answer counts as a call.
  }
}

/** The receipt, once the task has one; null when the proof is to be handed in again. */
async function poll(ask: AskOnce, errand: Errand, pollMs: number): Promise<Verification | null> {
  const { taskId: id } = errand;
  for (;;) {
    const { answer } = await ask('getTask', errand, (client) =>
      client.call('getTask', { params: { id } }),
    );
    if (answer !== null && answer.body.verification !== null) return answer.body.verification;
    if (answer !== null && [undefined, 'failed'].includes(answer.body.anchor?.state)) return null;
    await sleep(pollMs);
  }
}

/** The answers that a robot may get while its server goes on. */
const always =
  /^(createTask 201|getTask 200|completeTask (20[02]|409 (completion_in_progress|already_completed)|503 chain_unavailable))$/;

/** Those that it may get as well while servers end, and nodes say that anchors would fail. */
const underKills = /^(\w+ (no answer|503 storage_unavailable)|completeTask 502 anchoring_failed)$/;

export function unexpectedAnswers(answers: Counts, { isKilled }: { isKilled: boolean }): string[] {
  return [...answers.keys()]
    .filter((answer) => !always.test(answer) && !(isKilled && underKills.test(answer)))
    .map((answer) => `a robot was answered: ${answer}`);
}
