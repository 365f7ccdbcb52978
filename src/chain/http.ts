// One HTTP request to an RPC endpoint.
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import { onAbort } from '../base/async/on-abort.ts';
import { orNull } from '../base/or-null.ts';
import { connectionsTo } from '../base/proxy/connections.ts';
import { SvcError } from '../base/svc-error.ts';
import { ProviderError } from './errors.ts';

interface ErrorAnswer {
  readonly error: { readonly code: number; readonly message: string };
}

export function isErrorAnswer(value: unknown): value is ErrorAnswer {
  const { error } = (value ?? {}) as Partial<ErrorAnswer>;
  return typeof error?.code === 'number' && typeof error.message === 'string';
}

interface Target {
  readonly origin: string;
  readonly path: string;
  readonly headers: Record<string, string>;
}

/** @throws SvcError `invalid_rpc_url` when the text is no http or https URL. */
export function targetOf(text: string): Target {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new SvcError('invalid_rpc_url', 'The RPC URL must be an http or https URL.', {
      hint: 'Begin it with https://, or with http:// for a node on this machine.',
    });
  }
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (url.username !== '' || url.password !== '') {
    const credentials = `${credential(url.username)}:${credential(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  return { origin: url.origin, path: url.pathname + url.search, headers };
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Through a proxy if the environment names one. */
export function createAgent({ origin }: Target, connectMs: number): Dispatcher {
  return connectionsTo(origin, {
    connect: { timeout: connectMs },
    maxResponseSize: MAX_ANSWER_BYTES,
  });
}

/** Sends one POST request; redirects are errors. Rejects with ProviderError, which never contains the address. */
export async function post(
  agent: Dispatcher,
  target: Target,
  body: string,
  limits: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<string> {
  const abort = new AbortController();
  const stop = () => abort.abort(new ProviderError('stopped'));
  const timer = setTimeout(
    () => abort.abort(new ProviderError(`no answer within ${limits.timeoutMs} ms`)),
    limits.timeoutMs,
  );
  const forget = limits.signal && onAbort(limits.signal, stop);
  try {
    const request = { ...target, method: 'POST', body, signal: abort.signal } as const;
    const response = await agent.request(request);
    const text = await response.body.text();
    const { statusCode, headers } = response;
    // Some providers send a node's refusal with an error status. Their own refusals carry Retry-After.
    const isReadable =
      statusCode < 300 ||
      (statusCode >= 400 && statusCode !== 429 && isErrorAnswer(orNull(() => JSON.parse(text))));
    if (isReadable) return text;
    throw new ProviderError(`HTTP status ${statusCode}`, {
      retryAfterMs: retryAfterMs(headers),
      isTooLarge: statusCode === 413,
      isExhausted: statusCode === 429,
    });
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    if (error instanceof errors.ResponseExceededMaxSizeError) {
      throw new ProviderError('the answer is too large', { isTooLarge: true });
    }
    // undici's messages quote the address, so only the error code is passed on.
    throw new ProviderError(connectionReason(error));
  } finally {
    clearTimeout(timer);
    forget?.();
  }
}

function credential(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    const message = 'A % in the credentials of the RPC URL must be written as %25.';
    throw new SvcError('invalid_rpc_url', message);
  }
}

/** The value of Retry-After in milliseconds (RFC 9110, 10.2.3); null if there is none. */
function retryAfterMs({ 'retry-after': value }: IncomingHttpHeaders): number | null {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

function connectionReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[A-Z_]+$/.test(code)
    ? `no connection (${code})`
    : 'no connection';
}
