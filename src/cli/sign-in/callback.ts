// The loopback server that receives the code of a sign-in in the browser.
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SvcError } from '../../base/svc-error.ts';

interface Callback {
  port: number;
  /** The code that the page sends; rejects with `sign_in_denied`. */
  code: Promise<string>;
  close(): void;
}

/** Listens on a free port of 127.0.0.1 for the browser to return with `state`. */
export async function listenForCode(state: string): Promise<Callback> {
  let settle: { resolve(code: string): void; reject(error: Error): void };
  const code = new Promise<string>((resolve, reject) => {
    settle = { resolve, reject };
  });
  code.catch(() => {});
  const server = createServer((request, response) => {
    const query = callbackQuery(request, port);
    if (query === null) return answer(response, 404, 'Not found.');
    if (!sameText(query.get('state') ?? '', state)) {
      return answer(response, 400, 'The waiting command did not start this sign-in.');
    }
    const given = query.get('code');
    if (given === null) {
      answer(response, 200, 'Refused. You can close this page.');
      settle.reject(new SvcError('sign_in_denied', 'The sign-in was refused in the browser.'));
      return;
    }
    answer(response, 200, 'Continue in the terminal. You can close this page.');
    settle.resolve(given);
  });
  // A browser may open connections that it never uses: they must not keep the process alive.
  server.on('connection', (socket) => socket.unref());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    code,
    close() {
      server.close();
    },
  };
}

/** Null unless the request is for the callback at 127.0.0.1: another host name may be DNS rebinding. */
function callbackQuery({ method, url, headers }: IncomingMessage, port: number) {
  if (method !== 'GET' || headers.host !== `127.0.0.1:${port}`) return null;
  const target = new URL(url ?? '/', 'http://127.0.0.1');
  return target.pathname === '/callback' ? target.searchParams : null;
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(`${text}\n`);
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
