import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { expect } from 'vitest';
import { errors, isErrorCode } from '../../src/protocol/errors.ts';
import type { Route } from '../../src/protocol/route.ts';
import { ErrorBody, routes } from '../../src/protocol/routes.ts';

/** An answer as it came over the wire. */
export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

export interface Send {
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
  apiKey?: string;
  /** Session token. */
  session?: string;
  /** Cookie header, beside a session. */
  cookie?: string;
}

/** One request over a real socket; every answer is checked against the protocol before it is returned. */
export async function send(
  baseUrl: string,
  method: string,
  path: string,
  options: Send = {},
): Promise<Reply> {
  const content = options.raw ?? (options.body === undefined ? null : JSON.stringify(options.body));
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: headersOf(options, content !== null),
    ...(content === null ? {} : { body: content as NonNullable<RequestInit['body']> }),
  });
  const text = isStream(response) ? await firstMessage(response) : await response.text();
  const isEmpty = [204, 304].includes(response.status);
  const body = isEmpty && text === '' ? null : isLines(response) ? linesOf(text) : JSON.parse(text);
  const reply = { status: response.status, headers: response.headers, body };
  expectProtocol(method, path, reply);
  return reply;
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type') === 'text/event-stream';
}

function isLines({ headers }: Response): boolean {
  return headers.get('content-type') === 'application/jsonl';
}

function linesOf(text: string): unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The data of the first message of an event stream, which is closed then. */
async function firstMessage({ body }: Response): Promise<string> {
  let text = '';
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString();
    const data = /^data: (.*)\n\n/m.exec(text)?.[1];
    if (data !== undefined) return data;
  }
  return text;
}

function headersOf(options: Send, hasBody: boolean): Record<string, string> {
  const cookies = [
    ...(options.session === undefined ? [] : [`svc_session=${options.session}`]),
    ...(options.cookie === undefined ? [] : [options.cookie]),
  ];
  return {
    ...(hasBody ? { 'content-type': 'application/json' } : {}),
    ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }),
    ...options.headers,
  };
}

/** What every answer promises: its schema, or the error body with the status of its code; the headers. */
export function expectProtocol(method: string, path: string, reply: Reply): void {
  const limit = Number(reply.headers.get('x-ratelimit-limit'));
  const remaining = Number(reply.headers.get('x-ratelimit-remaining') ?? -1);
  expect(limit).toBeGreaterThanOrEqual(60);
  expect(remaining).toBeGreaterThanOrEqual(0);
  expect(remaining).toBeLessThanOrEqual(limit);
  expect(Number(reply.headers.get('x-ratelimit-reset'))).toBeGreaterThanOrEqual(1);
  expect(reply.headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/);
  if (reply.body === null) return;
  const route = findRoute(method, path);
  const stream = reply.status === 200 ? route?.stream : undefined;
  expect(reply.headers.get('content-type')).toBe(stream ?? 'application/json; charset=utf-8');
  const schema = route?.responses[reply.status];
  if (schema !== undefined) {
    const bodies = stream === 'application/jsonl' ? reply.body : [reply.body];
    for (const body of bodies) expect(faultsOf(schema, body)).toEqual([]);
    return;
  }
  expect(faultsOf(ErrorBody, reply.body)).toEqual([]);
  const { error } = reply.body;
  expect(isErrorCode(error) && errors[error].status, `status of ${error}`).toBe(reply.status);
}

const validators = new Map<TSchema, Pick<Validator, 'Errors'>>();

function faultsOf(schema: TSchema, body: unknown): unknown[] {
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  return [...validator.Errors(body)];
}

function findRoute(method: string, path: string): Route | undefined {
  const bare = path.split('?', 1)[0] ?? '';
  return Object.values<Route>(routes).find(
    (route) =>
      route.method === method && new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`).test(bare),
  );
}
