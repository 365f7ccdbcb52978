// The one reader of what answers at the service's address: what is the service's own, and what else it may be.
import { SvcError } from '../../base/svc-error.ts';
import { type AnswerSchema, answerMismatch, mismatchOf } from '../../client/answers.ts';
import {
  type CallName,
  type Client,
  type ClientOptions,
  createClient,
} from '../../client/client.ts';
import { errors, isErrorCode } from '../../protocol/errors.ts';
import { errorsOf } from '../../protocol/openapi/errors-of.ts';
import { type Answer, ErrorBody, type RouteName, routes } from '../../protocol/routes.ts';

/** What the reader needs of a response. */
type Came = Pick<Response, 'status' | 'headers'>;

/** `nowMs`: the machine's clock, by which certificates are checked. */
interface ReaderOptions extends ClientOptions {
  nowMs?: () => number;
}

/**
 * A client that accepts only answers of the service. Resolves with a documented status and a body of the documented
 * shape. Rejects with an error that the route lists, at its status; with `service_unreachable`, whose message names the
 * reason; and with `unexpected_answer` for everything else, such as a redirect.
 */
export function createReader(options: ReaderOptions): Pick<Client, 'call'> {
  const { baseUrl, fetch, nowMs = Date.now } = options;
  return {
    async call(name, ...input) {
      let came: Came | null = null;
      const send: typeof fetch = async (target, init) => {
        const response = await fetch(target, { ...init, redirect: 'manual' });
        came = response;
        return response;
      };
      const answer = await createClient({ ...options, fetch: send })
        .call(name, ...input)
        .catch((error: unknown) => {
          throw errorOf(name, error, came, { baseUrl, nowMs });
        });
      const { status, body } = answer as { status: number; body: unknown };
      if (answerMismatch(name, { status, body }) === null) return answer;
      throw unexpectedAnswer(baseUrl, { status, headers: answer.headers });
    },
  };
}

/** An item of the answer to a batch. */
export type BatchItem = Answer<'batchTasks'>['body']['items'][number];
/** The calls that an item of a batch stands for. */
export type BatchedCall = 'createTask' | 'completeTask';

/**
 * What an item says of its claim or of its completion, as the single call would resolve or reject. `isOwn`: whether the
 * answer is about what was sent.
 */
export function readItem<Name extends BatchedCall>(
  name: Name,
  { status, body, retry_after_ms }: BatchItem,
  isOwn: (answer: Answer<Name>) => boolean,
  baseUrl: string,
): Answer<Name> | SvcError {
  const answer = { status, body } as unknown as Answer<Name>; // The next line checks its shape.
  if (answerMismatch(name, { status, body }) === null && isOwn(answer)) return answer;
  const { error = '', message = '', ...members } = body;
  const retryAfter = retry_after_ms && { retry_after: Math.ceil(retry_after_ms / 1000) };
  const known = new SvcError(error, message, { details: { ...members, ...retryAfter, status } });
  return isDocumented(name, known)
    ? known
    : unexpectedAnswer(baseUrl, { status, headers: new Headers() });
}

/** The error for an answer that is not the service's, or is not about what was asked. */
export function unexpectedAnswer(baseUrl: string, { status, headers }: Came): SvcError {
  const [type] = /^[\w.+-]{1,40}\/[\w.+-]{1,40}/.exec(headers.get('content-type') ?? '') ?? [];
  const what = type === undefined ? status : `${status} ${type}`;
  const retryAfter = /^\d{1,9}$/.exec(headers.get('retry-after') ?? '')?.[0];
  const message = `unexpected answer (${what}) from ${new URL(baseUrl).origin}: is there a proxy or a sign-in page?`;
  return new SvcError('unexpected_answer', message, {
    hint: 'Open the address in a browser on this network, and check SVC_AGENT_URL.',
    retryable: true,
    details: { status, ...(retryAfter !== undefined && { retry_after: Number(retryAfter) }) },
  });
}

function errorOf(
  name: CallName,
  error: unknown,
  came: Came | null,
  { baseUrl, nowMs }: { baseUrl: string; nowMs: () => number },
): unknown {
  if (!(error instanceof SvcError)) return error;
  // Without a status, the error is the client's own.
  if (came !== null && error.details.status !== undefined) {
    return isDocumented(name, error) ? error : unexpectedAnswer(baseUrl, came);
  }
  if (error.code !== 'service_unreachable') return error;
  const { hint, cause } = error;
  const message = `No answer from ${baseUrl}: ${reasonOf(cause, nowMs())}.`;
  return new SvcError(error.code, message, { hint, cause, retryable: true });
}

/** Whether the route lists the code, and the status and the members are those of the code. */
function isDocumented(name: RouteName, { code, message, details }: SvcError): boolean {
  const schema = ErrorBody as unknown as AnswerSchema; // The part that is checked is plain JSON Schema.
  return (
    isErrorCode(code) &&
    errorsOf(routes[name]).includes(code) &&
    errors[code].status === details.status &&
    mismatchOf(schema, { error: code, message, ...details }, 'the answer') === null
  );
}

/** Why no answer arrived, in words. `cause`: what `fetch` rejected with. */
export function reasonOf(cause: unknown, nowMs: number): string {
  const clock = `this machine's clock says ${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const code = codeIn(cause);
  switch (code) {
    case 'CERT_NOT_YET_VALID':
      return `the certificate is not valid yet: ${clock}`;
    case 'CERT_HAS_EXPIRED':
      return `the certificate has expired: ${clock}`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'the certificate is for another name: is there a proxy or a sign-in page?';
    default:
      return reasons[code] ?? (code === '' ? 'the connection failed' : code);
  }
}

const untrusted = 'the certificate is of an authority that this machine does not trust';
const closed = 'the connection was closed before the answer was complete';
const noName = 'its name cannot be resolved';
const noRoute = 'the network cannot be reached';
const slow = 'the connection took too long';
const noTls = 'there is no TLS at this address';

const reasons: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: closed,
  EPIPE: closed,
  UND_ERR_ABORTED: 'the proxy refused the connection: check its user and password',
  UND_ERR_SOCKET: closed,
  ENOTFOUND: noName,
  EAI_AGAIN: noName,
  ENETUNREACH: noRoute,
  EHOSTUNREACH: noRoute,
  ETIMEDOUT: slow,
  UND_ERR_CONNECT_TIMEOUT: slow,
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
};

/** The innermost code of an error; empty without one. */
function codeIn(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { cause, code } = error as { cause?: unknown; code?: unknown };
  return codeIn(cause) || (typeof code === 'string' ? code : '');
}
