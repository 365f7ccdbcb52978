// Entry point of the package `robot-svc/robot`, for Node.js: a robot's calls to svc-agent or to the service.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, fetch as undiciFetch } from 'undici';
import { SvcError } from '../base/svc-error.ts';
import type { Verification } from '../protocol/resources.ts';
import type { Body } from '../protocol/routes.ts';
import { type Client, createClient, type Fetch } from './client.ts';

/** Claims tasks and submits evidence. It repeats what can succeed later, except in `call`. */
export interface RobotClient extends Pick<Client, 'call'> {
  /**
   * Submits the evidence of a task. Resolves with the receipt, or with null if the evidence is stored and not anchored
   * after `wait` seconds. The call can be repeated: a task is completed once. Rejects with a SvcError: `already_completed`
   * or `completion_in_progress` if the task has other evidence, `unexpected_answer` if the receipt is of another task.
   */
  complete(
    id: string,
    result: Body<'completeTask'>,
    options?: SignalOption & { wait?: number },
  ): Promise<Verification | null>;
  /** Claims a task, completes it, and resolves with its receipt, however long that takes. Rejects as `complete`. */
  submit(
    work: Body<'createTask'> & Body<'completeTask'>,
    options?: SignalOption,
  ): Promise<Verification>;
}

interface SignalOption {
  signal?: AbortSignal;
}

interface RetryOption {
  /** How long retryable errors are repeated after the first, in ms (default: 60 000). */
  retryMs?: number;
}

/** Longest `Prefer: wait` of svc-agent, in seconds. */
const LONGEST_WAIT = 600;
const POLL_MS = 1000;
const LONGEST_PAUSE_MS = 10_000;

/** A client of svc-agent, which answers without a network. `socketPath`: SVC_AGENT_SOCKET by default. */
export function createAgentClient({
  socketPath = process.env.SVC_AGENT_SOCKET ?? '/run/svc-agent/agent.sock',
  retryMs,
}: RetryOption & { socketPath?: string } = {}): RobotClient {
  // The agent answers the headers only after `Prefer: wait`.
  const dispatcher = new Agent({ connect: { socketPath }, headersTimeout: 0 });
  const client = createClient({
    baseUrl: 'http://localhost',
    fetch: (url, init) => undiciFetch(url, { ...init, dispatcher }),
  });
  return robotClient(client, retryMs, false);
}

/** A client of the service, with the robot's API key. `complete` waits as long as the service does, by default 30 s. */
export function createServiceClient({
  baseUrl,
  apiKey,
  fetch = globalThis.fetch,
  retryMs,
}: RetryOption & {
  baseUrl: string;
  apiKey: string;
  fetch?: Fetch;
}): RobotClient {
  const client = createClient({ baseUrl, fetch, credential: { apiKey } });
  return robotClient(client, retryMs, true);
}

/** `polls`: reads the task until its receipt; svc-agent waits itself, and reports a refusal of the evidence. */
function robotClient(client: Client, retryMs: number | undefined, polls: boolean): RobotClient {
  const repeated = <T>(call: () => Promise<T>, { signal }: SignalOption) =>
    retry(call, { ...(signal && { signal }), ...(retryMs !== undefined && { retryMs }) });
  async function post(
    id: string,
    body: Body<'completeTask'>,
    seconds: number,
    options: SignalOption,
  ) {
    const headers = { prefer: `wait=${seconds}` };
    const input = { params: { id }, body, headers, ...options };
    const answer = await repeated(() => client.call('completeTask', input), options).catch(
      (error) => {
        // An earlier call arrived, and its answer was lost.
        if (error.details?.same_evidence !== true) throw error;
        return { status: 200 as const, body: error.details as { verification?: Verification } };
      },
    );
    return (answer.status === 200 && answer.body.verification) || null;
  }
  async function complete(
    id: string,
    result: Body<'completeTask'>,
    { wait = 0, ...options }: SignalOption & { wait?: number } = {},
  ) {
    const end = Date.now() + wait * 1000;
    const secondsLeft = () => Math.max(0, Math.min(LONGEST_WAIT, (end - Date.now()) / 1000));
    let receipt = await post(id, result, Math.floor(secondsLeft()), options);
    while (receipt === null && Date.now() < end) {
      await sleep(Math.min(POLL_MS, secondsLeft() * 1000), undefined, options);
      const read = () => client.call('getTask', { params: { id }, ...options });
      const task = polls ? (await repeated(read, options)).body : null;
      receipt =
        task === null || task.anchor?.state === 'failed'
          ? await post(id, result, Math.floor(secondsLeft()), options)
          : task.verification;
    }
    if (receipt === null || receipt.task_id === id.toLowerCase()) return receipt;
    throw new SvcError('unexpected_answer', `The receipt is of another task: ${receipt.task_id}.`);
  }
  return {
    call: client.call,
    complete,
    async submit({ proof, outcome, ...claim }, options = {}) {
      const id = claim.id ?? randomUUID();
      const body = { ...claim, id };
      await repeated(() => client.call('createTask', { body, ...options }), options);
      const result = { proof, ...(outcome && { outcome }) };
      const wait = Number.POSITIVE_INFINITY;
      return (await complete(id, result, { wait, ...options })) as Verification;
    },
  };
}

/**
 * Repeats a call while it rejects with a retryable SvcError or something else than the service answers, until `retryMs`
 * (60 000) after the first such error. Waits as long as the service asks, otherwise 0.2 s at first and 10 s in the end.
 */
export async function retry<T>(
  call: () => Promise<T>,
  { retryMs = 60_000, ...options }: RetryOption & SignalOption = {},
): Promise<T> {
  let end: number | undefined;
  for (let pause = 200; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      const { details, retryable, code } = error;
      const asked = Number(details.retry_after ?? 0) * 1000;
      const delay = Number.isFinite(asked) ? Math.max(asked, pause) : pause;
      end ??= Date.now() + retryMs;
      const isPermanent = !retryable && code !== 'unexpected_answer';
      if (isPermanent || Date.now() + delay > end) throw error;
      await sleep(delay, undefined, options);
    }
  }
}
