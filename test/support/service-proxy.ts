import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request on its way to the service. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly response: ServerResponse;
  /** The response of the service, not forwarded yet. */
  forward(): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>;
  /** Forwards it. */
  pass(): Promise<void>;
}

export type ServiceProxy = Awaited<ReturnType<typeof startServiceProxy>>;

/** A proxy between agent and service that records requests and fails on demand. */
export async function startServiceProxy(service: string) {
  const seen: Pick<Passing, 'method' | 'path' | 'body' | 'headers'>[] = [];
  let target = service;
  let handle: (passing: Passing) => Promise<void> | void = ({ pass }) => pass();
  const server = createServer(async (incoming, response) => {
    try {
      const passing = await passingOf(incoming, response, () => target);
      const { method, path, body, headers } = passing;
      seen.push({ method, path, body, headers });
      await handle(passing);
    } catch {
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    /** Requests to a path so far. */
    seenAt: (path: string) => seen.filter((one) => one.path === path),
    /** Passes every request to the handler until `restore`; an error closes the connection. */
    handle(handler: typeof handle) {
      handle = handler;
    },
    /** Ends every connection without an answer until `restore`. */
    cut() {
      handle = ({ response }) => {
        response.destroy();
      };
      server.closeAllConnections();
    },
    /** Answers every request with this response until `restore`. */
    fail(status: number, body: object, headers: Record<string, string> = {}) {
      handle = ({ response }) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify(body));
      };
    },
    restore() {
      handle = ({ pass }) => pass();
    },
    /** The service has moved. */
    redirect(to: string) {
      target = to;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function passingOf(
  incoming: IncomingMessage,
  response: ServerResponse,
  target: () => string,
): Promise<Passing> {
  const { method = 'GET', url: path = '/', headers } = incoming;
  const body = await text(incoming);
  const forward = async () => {
    // Bodies are forwarded as text, so they must not be compressed.
    const asked = { ...headers, 'accept-encoding': 'identity' };
    const sent = request(`${target()}${path}`, { method, headers: asked, agent: false });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
  };
  const pass = async () => {
    const answer = await forward();
    response.writeHead(answer.status, answer.headers).end(answer.body);
  };
  return { method, path, headers, body, response, forward, pass };
}
