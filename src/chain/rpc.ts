// JSON-RPC over HTTP: batches, answers and a concurrency limit per endpoint.
import { FairQueue } from '../base/async/fair-queue.ts';
import { pause } from '../base/async/on-abort.ts';
import { orNull } from '../base/or-null.ts';
import {
  isBatchTooLarge,
  isRateLimit,
  ProviderError,
  type RpcRefusal,
  redactor,
} from './errors.ts';
import { createAgent, isErrorAnswer, post, targetOf } from './http.ts';

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Reads a block by its number, with all its transactions if `isWhole`, otherwise with their hashes. */
export function blockCall(number: bigint, isWhole = false): RpcCall {
  return { method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, isWhole] };
}

/** Reads the newest block, with the hashes of its transactions. */
export const newestBlockCall: RpcCall = {
  method: 'eth_getBlockByNumber',
  params: ['latest', false],
};

/**
 * Sends the calls in one HTTP request and resolves with their answers in the same order. Never repeats a request.
 * Rejects with ProviderError if there is no usable answer; a call may have been executed then.
 */
export type Ask = (calls: readonly RpcCall[], signal?: AbortSignal) => Promise<RpcAnswer[]>;

/** A completed HTTP request to the endpoint. */
export interface Asked {
  /** `failed`: no usable answer. */
  readonly calls: readonly {
    readonly method: string;
    readonly outcome: 'answered' | 'refused' | 'failed';
  }[];
  readonly seconds: number;
  /** Why there was no usable answer; null if there was one, or if the caller aborted. */
  readonly error: ProviderError | null;
  readonly answers: readonly RpcAnswer[];
}

export interface RpcOptions {
  /** http or https, possibly with credentials. Never shown in an error. */
  readonly url: string;
  /** Time-out of a whole request, including connecting and reading. */
  readonly timeoutMs?: number | undefined;
  readonly onAsked?: (asked: Asked) => void;
}

const ANCHORING_AT_ONCE = 16;
const BROADCASTING_AT_ONCE = 8;
const READING_AT_ONCE = 8;
/** Verifications also pass at this rate: 200 in 10 s where each call takes 0.5 s. */
const VERIFYING_AT_ONCE = 32;
/** Further reads are rejected at once. */
const READS_WAITING = 64;
const BROADCAST_TIMEOUT_MS = 2_500;

export type Rpc = ReturnType<typeof connectRpc>;

/** Opens the JSON-RPC endpoint at a URL. Redirects are errors. */
export function connectRpc(options: RpcOptions) {
  const target = targetOf(options.url);
  const timeoutMs = options.timeoutMs ?? 10_000;
  const redact = redactor(options.url);
  const agent = createAgent(target, timeoutMs);
  const askIn = (queue: FairQueue, timeoutMs: number): Ask => {
    return (calls, signal) =>
      queue.run('', async () => {
        const startedAt = performance.now();
        let answers: RpcAnswer[] = [];
        let failure: ProviderError | null = null;
        try {
          const body = JSON.stringify(bodyOf(calls));
          const text = await post(agent, target, body, { timeoutMs, signal });
          answers = answersOf(text, calls.length, redact);
          return answers;
        } catch (error) {
          if (error instanceof ProviderError && !signal?.aborted) failure = error;
          throw error;
        } finally {
          options.onAsked?.({
            calls: calls.map(({ method }, i) => ({ method, outcome: outcomeOf(answers[i]) })),
            seconds: (performance.now() - startedAt) / 1000,
            error: failure,
            answers,
          });
        }
      });
  };
  return {
    /** For the anchorer. */
    anchoring: askIn(queueOf(ANCHORING_AT_ONCE), timeoutMs),
    /** For signed transactions, with a shorter time-out: a slow transaction pool delays nothing else. */
    broadcasting: askIn(queueOf(BROADCASTING_AT_ONCE), Math.min(timeoutMs, BROADCAST_TIMEOUT_MS)),
    /** For sign-in and readiness, with a concurrency limit of their own: they can never delay an anchor. */
    reading: askIn(queueOf(READING_AT_ONCE, READS_WAITING), timeoutMs),
    /** For public verification: anyone can ask for one. */
    verifying: askIn(queueOf(VERIFYING_AT_ONCE, READS_WAITING), timeoutMs),
    /** Aborts requests in progress and closes every socket. */
    close: () => agent.destroy(),
  };
}

/** Reads from an endpoint that is closed afterwards. */
export async function readingAt<Result>(
  url: string,
  read: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const rpc = connectRpc({ url });
  return read(rpc.reading).finally(rpc.close);
}

/** The result of a call that must not be refused; a refusal is thrown as a ProviderError. */
export function resultOf(answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new ProviderError('an answer is missing');
  if (answer.ok) return answer.result;
  const { refusal } = answer;
  throw new ProviderError(`refused: ${refusal.reason}`, { isExhausted: isRateLimit(refusal) });
}

export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly refusal: RpcRefusal };

/** A queue for calls, first come, first served. Above `waiting`, calls reject with `chain_unavailable`. */
function queueOf(atOnce: number, waiting = Number.POSITIVE_INFINITY): FairQueue {
  return new FairQueue({
    atOnce,
    ofOneAtOnce: atOnce,
    waiting: { ofOne: waiting, inAll: waiting },
    refusal: () => tooManyReads(1000),
  });
}

function tooManyReads(retryAfterMs: number): ProviderError {
  return new ProviderError('too many reads in progress', { retryAfterMs, isExhausted: true });
}

/** Longest wait for the limit of calls per second. */
const LONGEST_PACE_MS = 10_000;

/**
 * Limits calls to `perSecond`, after a burst of a second's calls; undefined does not limit them. Calls reject with
 * `chain_unavailable` if they would wait for more than 10 s.
 */
export function limitRate(perSecond: number | undefined, ask: Ask): Ask {
  let freeAt = Number.NEGATIVE_INFINITY;
  return async (calls, signal) => {
    const now = performance.now();
    const startsAt = Math.max(freeAt, now - 1000);
    const waitMs = startsAt - now;
    if (waitMs > LONGEST_PACE_MS) {
      throw tooManyReads(waitMs);
    }
    freeAt = startsAt + (calls.length * 1000) / (perSecond ?? Number.POSITIVE_INFINITY);
    if (waitMs > 0) await pause(waitMs, signal);
    return ask(calls, signal);
  };
}

export interface Parts {
  /** Calls at the start of every request. The answers to `calls` are interpreted with the answers to these. */
  readonly head: readonly RpcCall[];
  readonly calls: readonly RpcCall[];
}

/** Maximum number of calls per request, in addition to the head: providers refuse large batches. */
const PER_REQUEST = 25;

/** Maximum number of calls that an endpoint accepts per request, learned from its refusals. */
const limits = new WeakMap<Ask, number>();

/**
 * Sends many calls in several requests, and in smaller ones if the endpoint finds a batch too large. Resolves with the
 * answers of each request, its head's first, in the order of the calls. Sends at least one request. Rejects as `ask`
 * does.
 */
export async function askInParts(
  ask: Ask,
  { head, calls }: Parts,
  signal?: AbortSignal,
): Promise<RpcAnswer[][]> {
  const room = (limits.get(ask) ?? Number.POSITIVE_INFINITY) - head.length;
  const size = Math.max(1, Math.min(PER_REQUEST, room));
  const parts = await Promise.all(
    chunksOf(calls, size).map((chunk) => askPart(ask, { head, calls: chunk }, signal)),
  );
  return parts.flat();
}

function outcomeOf(answer: RpcAnswer | undefined): Asked['calls'][number]['outcome'] {
  if (answer === undefined) return 'failed';
  return answer.ok ? 'answered' : 'refused';
}

function bodyOf(calls: readonly RpcCall[]): unknown {
  // Some nodes answer null for the id 0.
  const requests = calls.map(({ method, params }, i) => ({
    jsonrpc: '2.0',
    id: i + 1,
    method,
    params,
  }));
  // Some nodes reject batches of one call.
  return requests.length === 1 ? requests[0] : requests;
}

/**
 * Reads the answers to `count` calls, in their order, from the body of a response. `redact` is applied to the node's
 * texts. Throws ProviderError if the body is not JSON-RPC.
 */
function answersOf(text: string, count: number, redact: (text: string) => string): RpcAnswer[] {
  const body: unknown = orNull(() => JSON.parse(text));
  const list = Array.isArray(body) ? body : [body];
  if (count > 1 && !Array.isArray(body)) {
    const message = isErrorAnswer(body) ? body.error.message : '';
    const refusal = message === '' ? '' : `: ${redact(message)}`;
    const isTooLarge = isBatchTooLarge(message);
    throw new ProviderError(`the batch was not answered${refusal}`, { isTooLarge });
  }
  // Some nodes answer the id as text.
  const byId = new Map<string, unknown>();
  for (const entry of list) {
    if (typeof entry === 'object' && entry !== null && 'id' in entry)
      byId.set(String(entry.id), entry);
  }
  const answers = Array.from({ length: count }, (_, i) =>
    answerOf(byId.get(String(i + 1)) ?? (count === 1 ? list[0] : undefined), redact),
  );
  if (answers.every((answer) => answer === null)) throw new ProviderError(notJsonRpc.reason);
  return answers.map((answer) => answer ?? { ok: false, refusal: notJsonRpc });
}

/** One unreadable entry says nothing about the others. The code marks it as an error of the provider. */
const notJsonRpc: RpcRefusal = { rpcCode: -32700, reason: 'the answer is not JSON-RPC' };

function answerOf(entry: unknown, redact: (text: string) => string): RpcAnswer | null {
  if (isErrorAnswer(entry)) {
    const { code, message } = entry.error;
    return { ok: false, refusal: { rpcCode: code, reason: redact(message) } };
  }
  if (typeof entry === 'object' && entry !== null && 'result' in entry) {
    return { ok: true, result: entry.result };
  }
  return null;
}

async function askPart(ask: Ask, part: Parts, signal?: AbortSignal): Promise<RpcAnswer[][]> {
  const batch = [...part.head, ...part.calls];
  try {
    const answers = await ask(batch, signal);
    const [first] = answers;
    if (part.calls.length < 2 || first?.ok !== false || !isBatchTooLarge(first.refusal.reason)) {
      return [answers];
    }
  } catch (error) {
    const isTooLarge = error instanceof ProviderError && error.isTooLarge;
    if (!isTooLarge || part.calls.length < 2) throw error;
  }
  const half = Math.floor(batch.length / 2);
  limits.set(ask, Math.min(half, limits.get(ask) ?? half));
  return askInParts(ask, part, signal);
}

/** Splits items into groups of at most `size`; one empty group if there are none. */
function chunksOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const count = Math.max(1, Math.ceil(items.length / size));
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size));
}
