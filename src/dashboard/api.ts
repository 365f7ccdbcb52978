// Typed requests to the service, by method and path. src/client would add 3 KB (gzip) to the first load, and 21 KB with
// the schemas of its routes table; its messages are for programs.
import type { ErrorCode } from '../protocol/errors.ts';
import type {
  Answer,
  Input as InputOf,
  LooseInput,
  RouteName,
  Routes,
} from '../protocol/routes.ts';

/** Method and path of a route, as in the routes table: `GET /api/v1/robots/:id`. */
type CallOf<Name extends RouteName> = `${Routes[Name]['method']} ${Routes[Name]['path']}`;
export type Call = { [Name in RouteName]: CallOf<Name> }[RouteName];
type NameOf<Called extends Call> = {
  [Name in RouteName]: Called extends CallOf<Name> ? Name : never;
}[RouteName];

export type Input<Called extends Call> = InputOf<NameOf<Called>>;

export type Reply<Called extends Call> = Answer<NameOf<Called>>['body'];

/** The service's refusal, or `unreachable` without an answer. `message` is for people. */
export class ServiceError extends Error {
  readonly code: ErrorCode | 'unreachable' | 'unexpected';
  readonly status: number;

  constructor(code: ServiceError['code'], message: string, status = 0) {
    super(message);
    this.name = 'ServiceError';
    this.code = code;
    this.status = status;
  }
}

/** Sends one request with the session's cookie. Rejects with a ServiceError, or with the reason of `signal`. */
export async function ask<Called extends Call>(
  call: Called,
  ...[input]: Record<never, never> extends Input<Called> ? [Input<Called>?] : [Input<Called>]
): Promise<Reply<Called>> {
  const { params = {}, query = {}, body, signal } = (input ?? {}) as LooseInput;
  const [method = '', path = ''] = call.split(' ');
  const place = path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  // No type of an input has a parameter that is present and undefined.
  const search = new URLSearchParams(query as Record<string, string>).toString();
  const target = search === '' ? place : `${place}?${search}`;
  const known = method === 'GET' ? reads.get(target) : undefined;
  const init: RequestInit = {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(known && { 'if-none-match': known.tag }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  };
  const response = await answered(fetch(target, init), init);
  if (response.status === 304 && known) return known.answer as Reply<Called>;
  if (!response.ok) throw await refusal(response);
  if (response.status === 204) return null as Reply<Called>;
  const answer = await answered(response.json(), init);
  const tag = response.headers.get('etag');
  if (tag !== null) keep(target, { tag, answer });
  return answer;
}

/** Reads a file. Rejects as `ask`, also if the file ends early. */
export async function download(target: string, init: RequestInit): Promise<Blob> {
  const response = await answered(fetch(target, init), init);
  if (!response.ok) throw await refusal(response);
  return response.blob().catch(() => {
    throw new ServiceError('unreachable', 'The export ended early. Try again.');
  });
}

/** The latest reads by target, with their tags: most polls find nothing new. */
const reads = new Map<string, { tag: string; answer: unknown }>();
const READS_KEPT = 50;

function keep(target: string, read: { tag: string; answer: unknown }): void {
  reads.delete(target);
  reads.set(target, read);
  const [oldest = ''] = reads.keys();
  if (reads.size > READS_KEPT) reads.delete(oldest);
}

/** A response, or its body: the connection may end before either. */
async function answered<Part>(part: Promise<Part>, { signal }: RequestInit): Promise<Part> {
  try {
    return await part;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ServiceError('unreachable', 'The service does not answer. Check the network.');
  }
}

async function refusal(response: Response): Promise<ServiceError> {
  const { status } = response;
  const answer: { error?: ErrorCode; message?: string } | null = await response
    .json()
    .catch(() => null);
  const { error, message } = answer ?? {};
  if (error !== undefined && message !== undefined) return new ServiceError(error, message, status);
  return new ServiceError('unexpected', `The service answered with HTTP ${status}.`, status);
}

export function isSignedOut(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    (error.code === 'missing_session' || error.code === 'invalid_session')
  );
}
