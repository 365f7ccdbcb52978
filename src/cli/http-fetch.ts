import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/**
 * As much of `fetch` as the API client uses, over node:http: a request with a text body or none, its answer
 * as text. The platform's own takes longer to load than the rest of most commands: docs/decisions/010.
 * Redirects are errors, as with `redirect: 'error'`.
 */
export const httpFetch: typeof fetch = async (input, init = {}) => {
  const url = new URL(String(input));
  // Only the one that is needed is loaded.
  const { request } = process.getBuiltinModule(
    url.protocol === 'https:' ? 'node:https' : 'node:http',
  );
  const { method = 'GET', headers = {}, body, signal } = init;
  const sent = request(url, {
    method,
    headers: headers as Record<string, string>,
    // Nothing is left behind that would keep the process alive.
    agent: false,
    ...(signal && { signal }),
  });
  sent.end(body ?? undefined);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const status = answer.statusCode ?? 0;
  if (status >= 300 && status < 400) {
    sent.destroy();
    throw new TypeError('unexpected redirect');
  }
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: {
      get: (name: string) => headerOf(answer, name.toLowerCase()),
      getSetCookie: () => answer.headers['set-cookie'] ?? [],
    },
    text: () => text(answer),
  } as Response;
};

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
