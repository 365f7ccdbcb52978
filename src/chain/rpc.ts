import { Agent, type Dispatcher } from 'undici';
import { SvcError } from '../base/svc-error.ts';
import { ProviderFault, type RpcRefusal } from './errors.ts';
import { type Lane, openLane } from './lane.ts';
import { redactor } from './redact.ts';

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly refusal: RpcRefusal };

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

/** One HTTP request to the endpoint, once it has ended; `failed`: there was no usable answer. */
export interface Asked {
  readonly calls: readonly {
    readonly method: string;
    readonly outcome: 'answered' | 'refused' | 'failed';
  }[];
  readonly seconds: number;
}

export interface RpcOptions {
  /** http or https, possibly with credentials. Never shown in an error. */
  readonly url: string;
  /** For a whole request, connecting and reading included. */
  readonly timeoutMs?: number;
  readonly onAsked?: (asked: Asked) => void;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
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
        try {
          const body = JSON.stringify(bodyOf(calls));
          const text = await post(agent, target, body, { timeoutMs, signal });
          answers = answersOf(text, calls.length, redact);
          return answers;
        } finally {
          options.onAsked?.({
            calls: calls.map(({ method }, i) => ({ method, outcome: outcomeOf(answers[i]) })),
            seconds: (performance.now() - startedAt) / 1000,
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

function outcomeOf(answer: RpcAnswer | undefined): Asked['calls'][number]['outcome'] {
  if (answer === undefined) return 'failed';
  return answer.ok ? 'answered' : 'refused';
}

/** The result of a call that must not be refused; a refused read is a provider's fault. */
export function resultOf(answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new ProviderFault('an answer is missing');
  if (!answer.ok) throw new ProviderFault(`refused: ${answer.refusal.reason}`);
  return answer.result;
}

interface Target {
  readonly origin: string;
  readonly path: string;
  readonly headers: Record<string, string>;
}

function targetOf(text: string): Target {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new SvcError('invalid_rpc_url', 'The RPC URL must be an http or https URL');
  }
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (url.username !== '' || url.password !== '') {
    const credentials = `${credential(url.username)}:${credential(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  return { origin: url.origin, path: url.pathname + url.search, headers };
}

function credential(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SvcError(
      'invalid_rpc_url',
      'A % in the credentials of the RPC URL must be written as %25',
    );
  }
}

function bodyOf(calls: readonly RpcCall[]): unknown {
  const requests = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
  // Some nodes take no batches of one.
  return requests.length === 1 ? requests[0] : requests;
}

async function post(
  agent: Agent,
  target: Target,
  body: string,
  limits: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<string> {
  const abort = new AbortController();
  const stop = () => abort.abort(new ProviderFault('stopped'));
  const timer = setTimeout(
    () => abort.abort(new ProviderFault(`no answer within ${limits.timeoutMs} ms`)),
    limits.timeoutMs,
  );
  limits.signal?.addEventListener('abort', stop);
  if (limits.signal?.aborted) stop();
  try {
    const response = await agent.request({
      ...target,
      method: 'POST',
      body,
      signal: abort.signal,
    });
    return await textOf(response);
  } catch (error) {
    // undici's texts quote the address, so only its code goes on.
    throw error instanceof ProviderFault ? error : new ProviderFault(connectionReason(error));
  } finally {
    clearTimeout(timer);
    limits.signal?.removeEventListener('abort', stop);
  }
}

async function textOf(response: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new ProviderFault('the answer is too large');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const { statusCode } = response;
  // Some providers send a node's refusal with an error status.
  const readable = statusCode < 300 || (statusCode >= 400 && isErrorAnswer(parsed(text)));
  if (!readable) throw new ProviderFault(`HTTP status ${statusCode}`);
  return text;
}

function connectionReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[A-Z_]+$/.test(code)
    ? `no connection (${code})`
    : 'no connection';
}

function answersOf(text: string, count: number, redact: (text: string) => string): RpcAnswer[] {
  const body = parsed(text);
  const list = Array.isArray(body) ? body : [body];
  if (count > 1 && !Array.isArray(body)) {
    const refusal = isErrorAnswer(body) ? `: ${redact(body.error.message)}` : '';
    throw new ProviderFault(`the batch was not answered${refusal}`);
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
  throw new ProviderFault('the answer is not JSON-RPC');
}

interface ErrorAnswer {
  readonly error: { readonly code: number; readonly message: string };
}

function isErrorAnswer(value: unknown): value is ErrorAnswer {
  if (typeof value !== 'object' || value === null || !('error' in value)) return false;
  const { error } = value;
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'number' &&
    'message' in error &&
    typeof error.message === 'string'
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
