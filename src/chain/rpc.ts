import { Agent } from 'undici';
import { ProviderFault } from './errors.ts';
import { post, targetOf } from './http-post.ts';
import { type Lane, openLane } from './lane.ts';
import { redactor } from './redact.ts';
import { answersOf, type RpcAnswer } from './rpc-answers.ts';

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
  readonly fault: ProviderFault | null;
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
  const askIn = (lane: Lane, timeoutMs: number): Ask => {
    return (calls, signal) =>
      lane(async () => {
        const startedAt = performance.now();
        let answers: RpcAnswer[] = [];
        let fault: ProviderFault | null = null;
        try {
          const body = JSON.stringify(bodyOf(calls));
          const text = await post(agent, target, body, { timeoutMs, signal });
          answers = answersOf(text, calls.length, redact);
          return answers;
        } catch (error) {
          if (error instanceof ProviderFault && !signal?.aborted) fault = error;
          throw error;
        } finally {
          options.onAsked?.({
            calls: calls.map(({ method }, i) => ({ method, outcome: outcomeOf(answers[i]) })),
            seconds: (performance.now() - startedAt) / 1000,
            fault,
            answers,
          });
        }
      });
  };
  return {
    anchoring: askIn(openLane(ANCHORING), timeoutMs),
    broadcasting: askIn(openLane(BROADCASTING), Math.min(timeoutMs, BROADCAST_TIMEOUT_MS)),
    reading: askIn(openLane(READING), timeoutMs),
    close: () => agent.destroy(),
  };
}

/** The result of a call that must not be refused; a refused read is a provider's fault. */
export function resultOf(answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new ProviderFault('an answer is missing');
  if (!answer.ok) throw new ProviderFault(`refused: ${answer.refusal.reason}`);
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
