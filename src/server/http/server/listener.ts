// The HTTP server: time-outs, malformed requests, shutdown.
import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { SvcError } from '../../../base/svc-error.ts';
import { type ErrorCode, errors } from '../../../protocol/errors.ts';
import { limits } from '../../../protocol/limits.ts';
import { wireError } from '../../ports/errors.ts';
import { errorBody } from './errors.ts';
import type { InFlightRequests } from './in-flight.ts';
import { type Connections, MOST_CONNECTIONS } from './strangers.ts';

/** Time-outs in milliseconds. They do not include the time to produce a response. */
export interface ArrivalTimeouts {
  /** From the first byte, or from the connection, to the end of the headers. */
  headersMs: number;
  /** From the same start to the end of the body. */
  requestMs: number;
  /** Without any byte of a response being read by the client. */
  unreadMs: number;
  /** How often connections are checked. */
  checkMs: number;
}

export const arrivalTimeouts: ArrivalTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  unreadMs: 30_000,
  checkMs: 2_000,
};

/** Keep-alive time of an idle connection; longer than that of a proxy in front. */
const KEEP_ALIVE_MS = 72_000;

/** Maximum size of unread responses on all connections together; they stay in memory until the clients read them. */
const MOST_UNREAD_BYTES = 128 * 1024 * 1024;

export function createHttpServer(
  listener: RequestListener,
  answers: InFlightRequests,
  timeouts: ArrivalTimeouts,
  connections: Connections,
): Server {
  const server = createServer(
    {
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      connectionsCheckingInterval: timeouts.checkMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The service never uses Host, and Node's own refusal would have no body.
      requireHostHeader: false,
    },
    (request, response) => {
      if (answers.admit(request, response)) listener(request, response);
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.on('connection', (socket: Socket) => connections.add(socket));
  server.timeout = timeouts.unreadMs;
  // Also emitted for idle connections, and for those whose response is being produced.
  server.on('timeout', (socket) => {
    if (!answers.isAwaited(socket)) socket.destroy();
  });
  const bound = setInterval(() => answers.boundUnread(MOST_UNREAD_BYTES), timeouts.checkMs).unref();
  server.once('close', () => clearInterval(bound));
  // Node would otherwise respond to an unknown expectation itself, without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}

/** How long the sender has to read the response and close its side. */
const LINGER_MS = 1000;

/**
 * Responds to requests that Node's parser rejects and to those that arrive too slowly, after the responses to earlier
 * requests. Then ends the connection whatever the client does. If the response could be mistaken for that of another
 * request, the connection ends without one.
 */
export function createConnectionErrorHandler(answers: InFlightRequests) {
  const ending = new WeakSet<Socket>();
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (ending.has(socket)) return;
    ending.add(socket);
    if (error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    answers.whenAnswered(socket, () => {
      if (!socket.writable || !answers.mayInterject(socket)) {
        socket.destroy();
        return;
      }
      socket.end(rawAnswer(errorOf(error.code)));
      // Destroying the connection at once would discard the response if more of the request is on its way.
      const timer = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.once('close', () => clearTimeout(timer));
    });
  };
}

const CHECK_MS = 20;
/** Grace period for pending responses; a slow client must not delay a shutdown. */
const GRACE_MS = 10_000;

/**
 * Makes `close()` end connections once no response is pending. Node alone would wait for every connection that was
 * opened and never used, and no longer checks time-outs during that wait.
 */
export function drainOnClose(app: FastifyInstance, answers: InFlightRequests): void {
  let timer: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    const end = performance.now() + GRACE_MS;
    timer = setInterval(() => {
      if (!answers.any || performance.now() > end) app.server.closeAllConnections();
    }, CHECK_MS);
  });
  app.addHook('onClose', async () => clearInterval(timer));
}

function errorOf(code: string | undefined): SvcError<ErrorCode> {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return wireError('headers_too_large', 'The request headers are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return wireError('request_timeout', 'The request took too long to arrive.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return wireError('payload_too_large', 'The chunk extensions of the body are too large.');
    default:
      return wireError('invalid_request', 'The HTTP request is malformed.');
  }
}

function rawAnswer(refusal: SvcError<ErrorCode>): string {
  const { status } = errors[refusal.code];
  const body = JSON.stringify(errorBody(refusal));
  const limit = String(limits.unmeteredPerWindow);
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    'x-request-id': randomUUID(),
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': limit,
    'x-ratelimit-reset': String(limits.windowMs / 1000),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}
