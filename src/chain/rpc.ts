// JSON-RPC over HTTP: batches, answers and a concurrency limit per endpoint.
import { Agent } from 'undici';
import { isBatchTooLarge, ProviderError, type RpcRefusal, redactor } from './errors.ts';
import { isErrorAnswer, parsed, post, targetOf } from './http.ts';

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/**
 * Asks the calls in one HTTP request and answers in their order. Never repeats a request by itself.
 * Rejects with ProviderFault when there is no usable answer: then a call may have been carried out.
 */
export type Ask = (calls: readonly RpcCall[], signal?: AbortSignal) => Promise<RpcAnswer[]>;

export interface Rpc {
  /** The anchorer's lane. */
  readonly anchoring: Ask;
  /** The lane of signed bytes, with a time-out of its own: a slow pool holds up nothing else. */
  readonly broadcasting: Ask;
  /** The lane of verification, readiness and sign-in, so that they can never hold up an anchor. */
  readonly reading: Ask;
  /** Ends what is under way and closes every socket. */
  close(): Promise<void>;
}

/** One HTTP request to the endpoint, once it has ended. */
export interface Asked {
  /** `failed`: there was no usable answer. */
  readonly calls: readonly {
    readonly method: string;
    readonly outcome: 'answered' | 'refused' | 'failed';
  }[];
  readonly seconds: number;
  /** Why there was no usable answer; null when there was, or when the caller did not wait for it. */
  readonly error: ProviderError | null;
  readonly answers: readonly RpcAnswer[];
}

export interface RpcOptions {
  /** http or https, possibly with credentials. Never shown in an error. */
  readonly url: string;
  /** For a whole request, connecting and reading included. */
  readonly timeoutMs?: number;
  readonly onAsked?: (asked: Asked) => void;
}

const ANCHORING = { width: 16, waiting: Number.POSITIVE_INFINITY };
const BROADCASTING = { width: 8, waiting: Number.POSITIVE_INFINITY };
const READING = { width: 8, waiting: 64 };
const BROADCAST_TIMEOUT_MS = 2_500;

/**
 * The JSON-RPC endpoint of one URL. Redirects are errors.
 *
 * @throws SvcError `invalid_rpc_url` when the URL is not http or https.
 */
export function connectRpc(options: RpcOptions): Rpc {
  const target = targetOf(options.url);
  const timeoutMs = options.timeoutMs ?? 10_000;
  const redact = redactor(options.url);
  const agent = new Agent({ connect: { timeout: timeoutMs } });
  const askIn = (limited: ConcurrencyLimit, timeoutMs: number): Ask => {
    return (calls, signal) =>
      limited(async () => {
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
    anchoring: askIn(limitConcurrency(ANCHORING), timeoutMs),
    broadcasting: askIn(limitConcurrency(BROADCASTING), Math.min(timeoutMs, BROADCAST_TIMEOUT_MS)),
    reading: askIn(limitConcurrency(READING), timeoutMs),
    close: () => agent.destroy(),
  };
}

/** The result of a call that must not be refused; a refused read is a provider's fault. */
export function resultOf(answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new ProviderError('an answer is missing');
  if (!answer.ok) throw new ProviderError(`refused: ${answer.refusal.reason}`);
  return answer.result;
}

function outcomeOf(answer: RpcAnswer | undefined): Asked['calls'][number]['outcome'] {
  if (answer === undefined) return 'failed';
  return answer.ok ? 'answered' : 'refused';
}

function bodyOf(calls: readonly RpcCall[]): unknown {
  const requests = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
  // Some nodes take no batches of one.
  return requests.length === 1 ? requests[0] : requests;
}

export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly refusal: RpcRefusal };

/**
 * Reads the body of a response to `count` calls into answers in their order; `redact` goes over the
 * node's texts. Throws ProviderFault when it is no JSON-RPC.
 */
export function answersOf(
  text: string,
  count: number,
  redact: (text: string) => string,
): RpcAnswer[] {
  const body = parsed(text);
  const list = Array.isArray(body) ? body : [body];
  if (count > 1 && !Array.isArray(body)) {
    const message = isErrorAnswer(body) ? body.error.message : '';
    const refusal = message === '' ? '' : `: ${redact(message)}`;
    const isTooLarge = isBatchTooLarge(message);
    throw new ProviderError(`the batch was not answered${refusal}`, { isTooLarge });
  }
  const byId = new Map<unknown, unknown>();
  for (const entry of list) {
    if (typeof entry === 'object' && entry !== null && 'id' in entry) byId.set(entry.id, entry);
  }
  return Array.from({ length: count }, (_, id) =>
    answerOf(byId.get(id) ?? (count === 1 ? list[0] : undefined), redact),
  );
}

function answerOf(entry: unknown, redact: (text: string) => string): RpcAnswer {
  if (isErrorAnswer(entry)) {
    const { code, message } = entry.error;
    return { ok: false, refusal: { rpcCode: code, reason: redact(message) } };
  }
  if (typeof entry === 'object' && entry !== null && 'result' in entry) {
    return { ok: true, result: entry.result };
  }
  throw new ProviderError('the answer is not JSON-RPC');
}

export interface ConcurrencyOptions {
  /** Most tasks under way at once. */
  readonly width: number;
  /** Most tasks waiting for their turn; one more is refused at once. */
  readonly waiting: number;
}

export type ConcurrencyLimit = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * Bounds how many tasks run at once, first come, first served.
 * Rejects with `chain_unavailable` and `retry_after` 1 when the waiting room is full.
 */
export function limitConcurrency(options: ConcurrencyOptions): ConcurrencyLimit {
  const queue: (() => void)[] = [];
  let underWay = 0;
  return async (task) => {
    if (underWay >= options.width) {
      if (queue.length >= options.waiting) {
        throw new ProviderError('too many reads under way', { retryAfterMs: 1000 });
      }
      // The one who leaves hands its place over, so that nobody slips in between.
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      underWay += 1;
    }
    try {
      return await task();
    } finally {
      const next = queue.shift();
      if (next === undefined) underWay -= 1;
      else next();
    }
  };
}

export interface Parts {
  /** Calls that every request begins with; what it answers is to be read against their answers. */
  readonly head: readonly RpcCall[];
  readonly calls: readonly RpcCall[];
}

/** Calls in one request beside its head: providers refuse large batches. */
const PER_REQUEST = 25;

/** What an endpoint is known to take in one request, where it has refused more. */
const limits = new WeakMap<Ask, number>();

/**
 * Asks many calls in several requests, and in smaller ones where the endpoint finds a batch too large. Answers each
 * request's answers, its head's first; at least one request, in the order of the calls. Rejects as `ask` does.
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

/** The items in groups of at most `size`; one empty group when there are none. */
export function chunksOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const count = Math.max(1, Math.ceil(items.length / size));
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size));
}
