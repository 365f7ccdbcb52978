// Typed client of the HTTP interface.
import { SvcError } from '../base/svc-error.ts';
import { canonicalJson } from '../proof/canonical-json.ts';
import { type ErrorCode, errors, isErrorCode } from '../protocol/errors.ts';
import type { Route } from '../protocol/route.ts';
import {
  type Answer,
  type Body,
  type Input,
  type LooseInput,
  type RouteName,
  routes,
} from '../protocol/routes.ts';
import type { Change } from '../protocol/stream.ts';

/** The fetch of the platform, of undici, or of a test. */
export type Fetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    redirect: 'error' | 'manual';
    body?: string;
    signal?: AbortSignal;
  },
) => Promise<Received>;

/** What the client reads of a response. */
type Received = Pick<Response, 'ok' | 'status' | 'headers' | 'body'>;

export interface ClientOptions {
  /** Origin of the service, without a path. */
  baseUrl: string;
  fetch: Fetch;
  /**
   * A robot's API key, an account token or a session token; absent for public routes. Scripts in a browser cannot send a
   * session token.
   */
  credential?: { apiKey: string } | { accountToken: string } | { session: string };
}

export interface Client {
  /**
   * Sends one request. Resolves with any response below 300, including 202. Rejects with a SvcError: the code and body
   * members of the service (`details`; `retry_after` also from the header); `service_unreachable` without a response (the
   * outcome of a write is then unknown); `unexpected_answer` if the response is not from the service; and, before
   * anything is sent, `invalid_path`, or `invalid_body` if the body contains anything but JSON values (NaN, a Date,
   * undefined other than as a member of the body itself, which is omitted). An abort of `signal` rejects with its
   * reason. There is no other time-out, no retry, and no redirect is followed.
   */
  call<Name extends CallName>(
    name: Name,
    ...input: Arguments<Input<Name>>
  ): Promise<Answer<Name> & { headers: Headers }>;
  /**
   * Yields what changes in the account, until the connection ends. Null first, and after a gap: anything may have
   * changed. Rejects as `call`. It does not connect again.
   */
  changes(signal: AbortSignal): AsyncGenerator<Change[] | null, void>;
  /** Yields everything that the account stores. The body has what its wallet signed. Rejects as `call`, also midway. */
  exportAccount(body: Body<'exportAccount'>): AsyncGenerator<Answer<'exportAccount'>['body'], void>;
}

/** The other routes respond with streams. */
export type CallName = Exclude<RouteName, 'openStream' | 'exportAccount'>;

/**
 * The other parameters depend on the name alone. If the compiler inferred it from the input too, it would expand every
 * schema, which takes seconds in each file with a call.
 */
type Arguments<Given> = Record<never, never> extends Given ? [NoInfer<Given>?] : [NoInfer<Given>];

/** A typed client of the HTTP interface, driven by the route table. It sends requests only when called. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, fetch } = options;
  // Async, so that a `fetch` that throws fails as one that rejects. Browsers refuse it as a method of another object.
  const send = async (...request: Parameters<Fetch>) => fetch(...request);
  /** Sends the request, and resolves with its response, whatever its status. `accept` is the type of a stream. */
  async function request(name: RouteName, input: LooseInput = {}, accept?: string) {
    const { params, query, body, signal, headers } = input;
    const route: Route = routes[name];
    const target = url(baseUrl, route.path, params, query);
    // Sign-in needs no credential, and writes nothing that an id could make repeatable.
    const isWrite = route.method !== 'GET' && options.credential !== undefined && !accept;
    /** Handles the failure of the exchange: an abort rejects with its reason. */
    const onFailure = (cause: unknown): never => {
      if (signal?.aborted || cause instanceof SvcError) throw cause;
      throw unreachable(baseUrl, isWrite, cause);
    };
    const response = await send(target, {
      method: route.method,
      headers: {
        ...headers,
        ...credentialHeader(options),
        ...(accept && { accept }),
        ...(body === undefined ? {} : jsonHeader),
      },
      redirect: 'error',
      ...(body === undefined ? {} : { body: jsonBody(body) }),
      ...(signal === undefined ? {} : { signal }),
    }).catch(onFailure);
    return { response, onFailure };
  }
  /** The values of a stream of this media type, as they arrive: JSON, a line each, after this prefix. */
  async function* stream(name: RouteName, input: LooseInput, type: string, prefix: string) {
    const { response, onFailure } = await request(name, input, type);
    if (response.headers.get('content-type') !== type) {
      throw serviceError(baseUrl, response, await readJson(baseUrl, response, onFailure));
    }
    let line = '';
    try {
      for await (const text of textsOf(response)) {
        const [rest, ...begun] = text.split('\n');
        const lines = [within(baseUrl, response, `${line}${rest}`), ...begun];
        line = lines.pop() ?? '';
        for (const each of lines) {
          if (each.startsWith(prefix)) yield parse(baseUrl, response, each.slice(prefix.length));
        }
      }
    } catch (cause) {
      onFailure(cause);
    }
  }
  return {
    async call(name, ...[input]) {
      const { response, onFailure } = await request(name, input);
      const answer = await readJson(baseUrl, response, onFailure);
      if (!response.ok) throw serviceError(baseUrl, response, answer);
      // The route table defines the body of this status.
      return { status: response.status, body: answer, headers: response.headers } as never;
    },
    async *changes(signal) {
      const messages = stream('openStream', { signal }, 'text/event-stream', 'data: ');
      for await (const message of messages) yield message?.changes;
    },
    exportAccount: (body) => stream('exportAccount', { body }, 'application/jsonl', ''),
  };
}

/** Refuses values that JSON would drop or change: altered evidence must never be anchored. */
function jsonBody(body: unknown): string {
  try {
    return canonicalJson(withoutAbsentMembers(body));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new SvcError('invalid_body', `Nothing was sent. ${cause.message}.`, { cause });
  }
}

function withoutAbsentMembers(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, member]) => member !== undefined));
}

const jsonHeader = { 'content-type': 'application/json' };

function credentialHeader({ credential }: ClientOptions): Record<string, string> {
  if (credential === undefined) return {};
  if ('session' in credential) return { cookie: `svc_session=${credential.session}` };
  const secret = 'apiKey' in credential ? credential.apiKey : credential.accountToken;
  return { authorization: `Bearer ${secret}` };
}

function url(
  baseUrl: string,
  path: string,
  params: Record<string, string> = {},
  query: Record<string, string | undefined> = {},
): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => pathPart(name, params[name] ?? ''));
  const target = new URL(filled, baseUrl);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) target.searchParams.set(name, value);
  }
  return target.href;
}

function pathPart(name: string, value: string): string {
  // A URL resolves these to another path.
  if (['', '.', '..'].includes(value)) {
    const message = `${JSON.stringify(value)} is not a valid ${name}. Nothing was sent.`;
    throw new SvcError('invalid_path', message);
  }
  return encodeURIComponent(value);
}

async function readJson(
  baseUrl: string,
  response: Received,
  onFailure: (cause: unknown) => never,
): Promise<unknown> {
  let text = '';
  try {
    for await (const part of textsOf(response)) text = within(baseUrl, response, text + part);
  } catch (cause) {
    onFailure(cause);
  }
  return parse(baseUrl, response, text);
}

// biome-ignore lint/suspicious/noExplicitAny: the route table defines the shape
function parse(baseUrl: string, response: Received, text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected(baseUrl, response);
  }
}

/** The text of a body, as it arrives. */
async function* textsOf({ body }: Received): AsyncGenerator<string, void> {
  if (body === null) return;
  const reader = body.getReader(); // Some browsers cannot iterate over a body.
  const decoder = new TextDecoder();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      yield decoder.decode(part.value, { stream: true });
    }
  } finally {
    // Nothing waits for the end: if `fetch` cloned the response, it may never come.
    reader.cancel().catch(() => {});
  }
}

/** In UTF-16 units. The longest answer of the service, 200 tasks, is a quarter of this. */
const MAX_TEXT = 64 * 1024 * 1024;

/** The text, which is an answer or a line of a stream. Throws if it is too long to be from the service. */
function within(baseUrl: string, response: Received, text: string): string {
  if (text.length <= MAX_TEXT) return text;
  throw unexpected(baseUrl, response, 'more than 64 MiB in one answer or line');
}

function serviceError(baseUrl: string, response: Received, answer: unknown): SvcError {
  const { status } = response;
  const { error, message, ...members } = (answer ?? {}) as Record<string, unknown>;
  if (typeof error !== 'string' || typeof message !== 'string') {
    return unexpected(baseUrl, response);
  }
  const details = { ...retryAfter(response), ...members };
  const retryable = isErrorCode(error)
    ? errors[error satisfies ErrorCode].retryable
    : status >= 500;
  return new SvcError(error, message, { details: { ...details, status }, retryable });
}

function unreachable(baseUrl: string, isWrite: boolean, cause: unknown): SvcError {
  const { code } = (cause instanceof Error ? (cause.cause ?? cause) : {}) as { code?: unknown };
  const mayHaveArrived = isWrite && code !== 'ECONNREFUSED';
  const doubt = mayHaveArrived ? ' A write may have arrived: repeat it with the same id.' : '';
  return new SvcError('service_unreachable', `No answer from ${baseUrl}.`, {
    hint: `Check the address and the network.${doubt}`,
    retryable: true,
    cause,
  });
}

function unexpected(baseUrl: string, response: Received, what = 'an unexpected body'): SvcError {
  const { status } = response;
  return new SvcError('unexpected_answer', `${baseUrl} returned HTTP ${status} with ${what}.`, {
    hint: 'Check the address: a proxy may have answered instead of the service.',
    retryable: status >= 500,
    details: { ...retryAfter(response), status },
  });
}

/** The seconds of the Retry-After header, if any. Most responses, and those of proxies, have it only there. */
function retryAfter({ headers }: Received): { retry_after?: number } {
  const seconds = /^\d{1,9}$/.exec(headers.get('retry-after') ?? '')?.[0];
  return seconds === undefined ? {} : { retry_after: Number(seconds) };
}
