import { createServer, type RequestListener, type Server } from 'node:http';
import type { AnswersDue } from './answers-due.ts';

/** Milliseconds. The time that an answer takes does not count. */
export interface ArrivalTimeouts {
  /** From the first byte, or from the connection, to the end of the headers. */
  headersMs: number;
  /** To the end of the body. */
  requestMs: number;
  /** Without a byte of an answer being taken. */
  unreadMs: number;
  /** How often connections are looked at. */
  checkMs: number;
}

export const arrivalTimeouts: ArrivalTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  unreadMs: 30_000,
  checkMs: 2_000,
};

/** How long a connection on which nothing is asked stays open; longer than a proxy in front keeps its own. */
const KEEP_ALIVE_MS = 72_000;

/**
 * Connections at once; more are closed on arrival. Each waiting completion holds one, so that this is far above
 * the robots that work at the same moment, and an idle one costs some 20 KB, so that all of them fit a small host.
 */
const MOST_CONNECTIONS = 4096;

/** Of answers that clients have not taken, on all connections together: they stand in memory until they are. */
const MOST_UNREAD_BYTES = 128 * 1024 * 1024;

export function createHttpServer(
  listener: RequestListener,
  answers: AnswersDue,
  timeouts: ArrivalTimeouts,
): Server {
  const server = createServer(
    {
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      connectionsCheckingInterval: timeouts.checkMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Nothing is ever read from Host, and Node's own refusal would have no body.
      requireHostHeader: false,
    },
    (request, response) => {
      if (answers.admit(request, response)) listener(request, response);
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.timeout = timeouts.unreadMs;
  // Told as well of connections on which nothing is asked, and of those whose answer is being made.
  server.on('timeout', (socket) => {
    if (!answers.isAwaited(socket)) socket.destroy();
  });
  const bound = setInterval(() => answers.boundUnread(MOST_UNREAD_BYTES), timeouts.checkMs).unref();
  server.once('close', () => clearInterval(bound));
  // Node would answer an unknown expectation by itself, without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}
