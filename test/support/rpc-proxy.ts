import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RpcRequest {
  id: number;
  method: string;
  params: unknown[];
}

export type Answer = { result: unknown } | { error: { code: number; message: string } };

/** An HTTP request to the node, and how the proxy can handle it. */
export interface Exchange {
  readonly calls: readonly RpcRequest[];
  readonly response: ServerResponse;
  /** The answers of the node, or of `intercept`, to these calls, in order. */
  forward(calls: readonly RpcRequest[]): Promise<Answer[]>;
  /** Sends these answers, one for each call. */
  answer(answers: readonly Answer[]): void;
}

export interface RpcProxy {
  readonly url: string;
  /** Methods called so far, and the number of HTTP requests that carried them. */
  readonly asked: { methods: string[]; requests: number };
  /** Ends every connection without an answer until `restore`. */
  cut(): void;
  /** Accepts every request and answers none until `restore`. */
  hang(): void;
  /** Forwards requests with that method but never answers them, until `restore`. */
  hangOn(method: string): void;
  /** Answers every request with that HTTP status and body until `restore`. */
  fail(status: number, body?: string, headers?: Record<string, string>): void;
  /** Answers a call instead of the node if `answer` returns one. */
  intercept(answer: (call: RpcRequest) => Answer | null): void;
  /** Passes every request to `handler` until `restore`; an error closes the connection. */
  handle(handler: (exchange: Exchange) => Promise<void>): void;
  restore(): void;
  /** Closes every open connection. */
  drop(): void;
  close(): Promise<void>;
}

type Mode = (exchange: Exchange) => Promise<void> | void;

/** A proxy between service and node that fails on demand. */
export async function startRpcProxy(node: string): Promise<RpcProxy> {
  const asked = { methods: [] as string[], requests: 0 };
  let answerFor: (call: RpcRequest) => Answer | null = () => null;
  const forwarded = async (calls: readonly RpcRequest[]) => {
    const own = calls.map(answerFor);
    const rest = await forward(
      node,
      calls.filter((_, i) => own[i] === null),
    );
    return own.map((one) => one ?? (rest.shift() as Answer));
  };
  const pass: Mode = async ({ calls, answer }) => answer(await forwarded(calls));
  let mode = pass;
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const exchange = exchangeOf(await text(request), response, forwarded);
    asked.requests += 1;
    asked.methods.push(...exchange.calls.map(({ method }) => method));
    try {
      await mode(exchange);
    } catch {
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    cut() {
      mode = ({ response }) => {
        response.destroy();
      };
      server.closeAllConnections();
    },
    drop: () => server.closeAllConnections(),
    hang() {
      mode = () => {};
    },
    hangOn(method) {
      mode = async (exchange) => {
        const { calls, forward } = exchange;
        if (!calls.some((call) => call.method === method)) return pass(exchange);
        await forward(calls);
      };
    },
    fail(status, body = '', headers = {}) {
      mode = ({ response }) => {
        response.writeHead(status, headers).end(body);
      };
    },
    intercept(answer) {
      answerFor = answer;
    },
    handle(handler) {
      mode = handler;
    },
    restore() {
      mode = pass;
      answerFor = () => null;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function exchangeOf(
  body: string,
  response: ServerResponse,
  forward: Exchange['forward'],
): Exchange {
  const parsed = JSON.parse(body) as RpcRequest | RpcRequest[];
  const calls = Array.isArray(parsed) ? parsed : [parsed];
  return {
    calls,
    response,
    forward,
    answer(answers) {
      const entries = answers.map((answer, i) => ({ ...answer, jsonrpc: '2.0', id: calls[i]?.id }));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(Array.isArray(parsed) ? entries : entries[0]));
    },
  };
}

async function forward(node: string, calls: readonly RpcRequest[]): Promise<Answer[]> {
  if (calls.length === 0) return [];
  const response = await fetch(node, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map((call) => ({ ...call, jsonrpc: '2.0' }))),
  });
  const answers = (await response.json()) as (Answer & { id: number })[];
  return calls.map(({ id }) => answers.find((answer) => answer.id === id) as Answer);
}
