// Typed client of the HTTP interface.
import { SvcError } from '../base/svc-error.ts';
import { canonicalJson } from '../proof/canonical-json.ts';
import { type ErrorCode, errors, isErrorCode } from '../protocol/errors.ts';
import type { Route } from '../protocol/route.ts';
import {
  type Answer,
  type Body,
  type Params,
  type Query,
  type RouteName,
  routes,
} from '../protocol/routes.ts';

/** Members that a route does not have are left out; a query or body whose members are all optional may be. */
export type Input<Name extends RouteName> = (Params<Name> extends undefined
  ? unknown
  : { params: Params<Name> }) &
  (Query<Name> extends undefined ? unknown : { query?: Query<Name> }) &
  (Body<Name> extends undefined ? unknown : { body: Body<Name> }) & { signal?: AbortSignal };

export interface ClientOptions {
  /** Origin of the service, without a path. */
  baseUrl: string;
  /** The platform's fetch, undici's, or a test's. */
  fetch: typeof globalThis.fetch;
  /** A robot's API key or a session token, which no browser lets a script send; absent for public routes. */
  credential?: { apiKey: string } | { session: string };
}

export interface Client {
  /**
   * One request. Resolves with any answer below 300, 202 included. Rejects with a SvcError: the
   * service's own code and body members (`details`; `retry_after` also from the header), `service_unreachable` when no answer came
   * (a write's outcome is then unknown), `unexpected_answer` when it was not the service's, or, with
   * nothing sent, `invalid_body` when the body is not made of JSON values alone (NaN, a Date, undefined
   * anywhere but as a member of the body itself, which is left out) and `invalid_path`. An abort of
   * `signal` rejects with its reason; there is no other timeout. Nothing is sent twice, redirects are
   * never followed.
   */
  call<Name extends RouteName>(
    name: Name,
    ...input: Arguments<Input<Name>>
  ): Promise<Answer<Name> & { headers: Headers }>;
}

/**
 * The name alone decides what else is given: to look for it in the input as well would take the compiler into every
 * schema there is, seconds in each file with a call.
 */
type Arguments<Given> = Record<never, never> extends Given ? [NoInfer<Given>?] : [NoInfer<Given>];

interface LooseInput {
  params?: Record<string, string>;
  query?: Record<string, string | undefined>;
  body?: unknown;
  signal?: AbortSignal;
}

/** A typed client of the HTTP interface, driven by the routes table. Sends nothing by itself, keeps nothing open. */
export function createClient(options: ClientOptions): Client {
  return {
    async call(name, ...[input]) {
      const { params, query, body, signal } = (input ?? {}) as LooseInput;
      const route: Route = routes[name];
      const target = url(options.baseUrl, route.path, params, query);
      // Signing in needs no credential and writes nothing that could be repeated with an id.
      const isWrite = route.method !== 'GET' && options.credential !== undefined;
      const response = await send(options, target, isWrite, {
        method: route.method,
        headers: { ...credentialHeader(options), ...(body === undefined ? {} : jsonHeader) },
        redirect: 'error',
        ...(body === undefined ? {} : { body: jsonBody(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
      const answer = await readJson(response, {
        baseUrl: options.baseUrl,
        isWrite,
        signal,
      });
      if (!response.ok) throw serviceError(options.baseUrl, response, answer);
      // The routes table is the service's promise about what this status carries.
      return { status: response.status, body: answer, headers: response.headers } as never;
    },
  };
}

/** Evidence that would be altered on the way must never be anchored, so that what JSON drops is refused. */
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
  return 'apiKey' in credential
    ? { authorization: `Bearer ${credential.apiKey}` }
    : { cookie: `svc_session=${credential.session}` };
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
    const message = `Nothing was sent: ${JSON.stringify(value)} is no ${name}.`;
    throw new SvcError('invalid_path', message);
  }
  return encodeURIComponent(value);
}

async function send(
  { fetch, baseUrl }: ClientOptions,
  target: string,
  isWrite: boolean,
  init: RequestInit,
) {
  try {
    return await fetch(target, init);
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw unreachable(baseUrl, isWrite, cause);
  }
}

interface Asked {
  baseUrl: string;
  isWrite: boolean;
  signal: AbortSignal | undefined;
}

async function readJson(response: Response, { baseUrl, isWrite, signal }: Asked): Promise<unknown> {
  let text: string;
  try {
    text = await response.text();
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw unreachable(baseUrl, isWrite, cause);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected(baseUrl, response);
  }
}

function serviceError(baseUrl: string, response: Response, answer: unknown): SvcError {
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
  const doubt = isWrite ? ' A write may or may not have arrived; repeat it with the same id.' : '';
  return new SvcError('service_unreachable', `No answer from ${baseUrl}.`, {
    hint: `Check the address and the network.${doubt}`,
    retryable: true,
    cause,
  });
}

function unexpected(baseUrl: string, response: Response): SvcError {
  const { status } = response;
  return new SvcError(
    'unexpected_answer',
    `${baseUrl} answered HTTP ${status} with something that no service answers.`,
    {
      hint: 'Something between here and the service may have answered; check the address.',
      retryable: status >= 500,
      details: { ...retryAfter(response), status },
    },
  );
}

/** The seconds of a Retry-After header, where there is one: most answers say it there alone, and proxies do. */
function retryAfter({ headers }: Response): { retry_after?: number } {
  const seconds = /^\d{1,9}$/.exec(headers.get('retry-after') ?? '')?.[0];
  return seconds === undefined ? {} : { retry_after: Number(seconds) };
}
