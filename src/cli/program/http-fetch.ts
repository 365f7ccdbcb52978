// A small `fetch` over node:http, for the command line.
import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../../base/addresses.ts';
import { mayUseProxy } from '../../base/proxy/variables.ts';
import { responseTo } from '../../base/sockets.ts';
import { SvcError } from '../../base/svc-error.ts';

/**
 * The part of `fetch` that the API client uses: a request with a text body or none, and the bytes of its answer. With the
 * platform's `fetch`, `svc robots list` takes more than twice as long (docs/decisions/030). Redirects are errors, as
 * with `redirect: 'error'`. Each request has its own connection, so nothing keeps the process alive. Rejects with
 * SvcError `service_unreachable` if the server at an https address does not speak TLS.
 */
export const httpFetch: typeof fetch = (input, init) =>
  exchange(input, init).catch((error) => {
    throw isWithoutTls(error) ? notHttps(new URL(String(input))) : error;
  });

const exchange: typeof fetch = async (input, init = {}) => {
  if (mayUseProxy(String(input), process.env)) {
    const { proxiedFetch } = await import('../../base/proxy/connections.ts');
    return proxiedFetch(input, init);
  }
  const url = new URL(String(input));
  const secure = url.protocol === 'https:';
  // Only the one that is needed is loaded.
  const { request } = process.getBuiltinModule(secure ? 'node:https' : 'node:http');
  const { method = 'GET', headers = {}, body, signal } = init;
  const sent = request(url, {
    method,
    headers: {
      ...(headers as Record<string, string>),
      // Node.js sends a body of DELETE without it, and the server takes the body for another request.
      ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
    },
    agent: false,
    ...(signal && { signal }),
  });
  const answer = await responseTo(sent, body as string | undefined);
  const status = answer.statusCode ?? 0;
  if (status >= 300 && status < 400) {
    sent.destroy();
    throw new TypeError('unexpected redirect');
  }
  const bytes = bytesOf(answer, signal);
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: {
      get: (name: string) => headerOf(answer, name.toLowerCase()),
      getSetCookie: () => answer.headers['set-cookie'] ?? [],
    },
    body: { getReader: () => ({ read: () => bytes.next(), cancel: () => bytes.return() }) },
  } as unknown as Response; // Only the part that the API client uses.
};

async function* bytesOf(answer: IncomingMessage, signal: AbortSignal | null | undefined) {
  try {
    yield* answer;
  } catch (error) {
    // An abort breaks the connection, which alone would look like an error of the service.
    signal?.throwIfAborted();
    throw error;
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}

/** Whether the first bytes of the server were not TLS, by the words of OpenSSL. */
function isWithoutTls(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isNot = /:(wrong version number|packet length too long)/.test(error.message);
  return isNot || isWithoutTls(error.cause);
}

function notHttps({ hostname, port }: URL): SvcError {
  const host = `${hostname}:${port || 443}`;
  const use = `Use http://${host}`;
  const message = `The server at ${host} does not speak https. It probably speaks http.`;
  return new SvcError('service_unreachable', message, {
    hint: isLoopback(hostname)
      ? `${use}.`
      : `${use} with --insecure-http if you trust the network: it sends your session unencrypted.`,
  });
}
