import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface RpcRequest {
  id: number;
  method: string;
  params: unknown[];
}

type Answer = { result: unknown } | { error: { code: number; message: string } };

export interface RpcProxy {
  readonly url: string;
  /** Methods asked so far, and how many HTTP requests carried them. */
  readonly asked: { methods: string[]; requests: number };
  /** Ends every connection without an answer until `mend`. */
  cut(): void;
  /** Takes every request and answers none until `mend`. */
  hang(): void;
  /** Passes requests with that method on and never answers them, until `mend`. */
  hangOn(method: string): void;
  /** Answers every request with that HTTP status and body until `mend`. */
  fail(status: number, body?: string, headers?: Record<string, string>): void;
  /** Answers calls in place of the node where `answer` gives one. */
  intercept(answer: (call: RpcRequest) => Answer | null): void;
  mend(): void;
  close(): Promise<void>;
}

type Mode = (response: ServerResponse, body: string) => Promise<void> | void;

/** Stands between service and node, and misbehaves on demand. */
export async function startRpcProxy(node: string): Promise<RpcProxy> {
  const asked = { methods: [] as string[], requests: 0 };
  let answerFor: (call: RpcRequest) => Answer | null = () => null;
  const pass: Mode = async (response, body) => {
    const calls = callsOf(body);
    const own = calls.map((call) => ({ call, answer: answerFor(call) }));
    const rest = own.filter(({ answer }) => answer === null).map(({ call }) => call);
    const answers = [
      ...own.flatMap(({ call, answer }) => (answer === null ? [] : [{ ...answer, id: call.id }])),
      ...(rest.length === 0 ? [] : await forward(node, rest)),
    ];
    const sent = Array.isArray(JSON.parse(body)) ? answers : answers[0];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(sent));
  };
  let mode = pass;
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    asked.requests += 1;
    asked.methods.push(...callsOf(body).map(({ method }) => method));
    try {
      await mode(response, body);
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
      mode = (response) => {
        response.destroy();
      };
      server.closeAllConnections();
    },
    hang() {
      mode = () => {};
    },
    hangOn(method) {
      mode = async (response, body) => {
        const calls = callsOf(body);
        if (!calls.some((call) => call.method === method)) return pass(response, body);
        await forward(node, calls);
      };
    },
    fail(status, body = '', headers = {}) {
      mode = (response) => {
        response.writeHead(status, headers).end(body);
      };
    },
    intercept(answer) {
      answerFor = answer;
    },
    mend() {
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

function callsOf(body: string): RpcRequest[] {
  const parsed = JSON.parse(body) as RpcRequest | RpcRequest[];
  return Array.isArray(parsed) ? parsed : [parsed];
}

async function forward(node: string, calls: RpcRequest[]): Promise<object[]> {
  const response = await fetch(node, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls),
  });
  return (await response.json()) as object[];
}
