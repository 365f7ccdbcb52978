// Tracks requests in flight: their pending responses, when to abort them, and the queue of accounts with long reads.
import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue } from '../../../base/async/fair-queue.ts';
import { onAbort } from '../../../base/async/on-abort.ts';
import { wireError } from '../../ports/errors.ts';

/** Maximum number of requests of one connection that may wait for their responses. */
export const MOST_DUE = 32;

/** Node's own listeners on a connection, in addition to those of waiting requests. */
const LISTENERS_OF_NODE = 16;

interface Connection {
  /**
   * The responses that have not ended. An array and not a Set: adding to and deleting from a Set leaves its tables to the
   * garbage collector, and V8 keeps each reachable from the next, so that every request would stay in memory until the
   * whole heap is collected.
   */
  due: ServerResponse[];
  newest: ServerResponse;
  /** Called after each response. */
  answered?: () => void;
}

/** The pending responses of each connection. */
export class InFlightRequests {
  readonly #connections = new Map<Socket, Connection>();

  /**
   * Registers a request. Returns false and destroys the connection if the request exceeds the limit, or arrived after
   * one that did.
   */
  admit(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.#connections.get(socket) ?? this.#open(socket, response);
    if (socket.destroyed || connection.due.length === MOST_DUE) {
      socket.destroy();
      return false;
    }
    connection.newest = response;
    connection.due.push(response);
    response.once('close', () => {
      connection.due.splice(connection.due.indexOf(response), 1);
      connection.answered?.();
    });
    return true;
  }

  /** Whether the connection waits for a response that is pending: none of its bytes was written. */
  isAwaited(socket: Socket): boolean {
    return (this.#connections.get(socket)?.due.length ?? 0) > 0 && socket.writableLength === 0;
  }

  /** Whether a complete request awaits its response. */
  isBusy(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    return connection !== undefined && connection.due.length > 0 && connection.newest.req.complete;
  }

  /** Destroys connections, those with the most unread bytes first, until at most `bytes` of responses are unread. */
  boundUnread(bytes: number): void {
    const held = [...this.#connections].map(
      ([socket, { due }]) => [unreadOf(socket, due), socket] as const,
    );
    let unread = held.reduce((sum, [size]) => sum + size, 0);
    if (unread <= bytes) return;
    for (const [size, socket] of held.sort(([a], [b]) => b - a)) {
      if (unread <= bytes) return;
      unread -= size;
      socket.destroy();
    }
  }

  get any(): boolean {
    return [...this.#connections.values()].some(({ due }) => due.length > 0);
  }

  /**
   * Whether bytes written now are read as the response to the request that is arriving: no earlier request waits, and
   * the arriving one has no response yet.
   */
  mayInterject(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return true;
    const { due, newest } = connection;
    if (due.length === 0) return newest.req.complete;
    // Responses are sent in order: the only pending one belongs to the newest request.
    return due.length === 1 && !newest.req.complete && !newest.headersSent;
  }

  /**
   * Calls `then` once the connection has sent what it owes: at once, or after the last response before the request that
   * is arriving. Never if the connection closes first.
   */
  whenAnswered(socket: Socket, then: () => void): void {
    const connection = this.#connections.get(socket);
    if (!connection?.due.length || this.mayInterject(socket)) then();
    else connection.answered = () => this.whenAnswered(socket, then);
  }

  #open(socket: Socket, newest: ServerResponse): Connection {
    const connection: Connection = { due: [], newest };
    // A destroyed connection emits no further 'close' event, so it must not be kept.
    if (socket.destroyed) return connection;
    this.#connections.set(socket, connection);
    setMaxListeners(MOST_DUE + LISTENERS_OF_NODE, socket);
    // A response queued behind another gets no 'close' event of its own.
    socket.once('close', () => this.#connections.delete(socket));
    return connection;
  }
}

/** Bytes of responses that the client has not read. A response that waits for an earlier one holds its own. */
function unreadOf(socket: Socket, due: readonly ServerResponse[]): number {
  const waiting = due.filter((response) => response.socket === null);
  return waiting.reduce((sum, { writableLength }) => sum + writableLength, socket.writableLength);
}

/** Runs `work` with a controller that aborts when the caller disconnects or the server shuts down. */
type Wait = <T>(socket: Socket, work: (enough: AbortController) => Promise<T>) => Promise<T>;

export function createRequestAborts(stopping: AbortSignal): Wait {
  return async (socket, work) => {
    const enough = new AbortController();
    const abort = () => enough.abort();
    const forget = onAbort(stopping, abort);
    try {
      return await abortOnDisconnect(socket, abort, () => work(enough));
    } finally {
      forget();
    }
  };
}

/** Runs `work`, and calls `abort` if the connection closes before `work` ends, or at once if it is already closed. */
export async function abortOnDisconnect<T>(
  socket: Socket,
  abort: () => void,
  work: () => Promise<T>,
): Promise<T> {
  // Not the response's 'close': a response queued behind another would not get it.
  socket.once('close', abort);
  if (socket.destroyed) abort();
  try {
    return await work();
  } finally {
    socket.off('close', abort);
  }
}

/** Reads that run at once, at most one per account, and reads of one account that may wait. */
const READS = {
  atOnce: 2,
  waiting: { ofOne: 32, inAll: Number.POSITIVE_INFINITY },
  refusal: () =>
    wireError('overloaded', 'Too many requests of this account are waiting. Nothing was done.'),
};

/** Longest pause after a read, in ms. */
const LONGEST_PAUSE_MS = 100;

/** Runs a read when the account's turn comes. */
export type LongReads = <T>(wallet: string, read: () => Promise<T>) => Promise<T>;

/** After each read, all others pause for twice the time that the event loop was busy, so that other requests go on. */
export function createLongReads(): LongReads {
  const queue = new FairQueue(READS);
  let pauseEnd = 0;
  return async (wallet, read) => {
    const end = await queue.take(wallet);
    while (pauseEnd > performance.now()) await sleep(pauseEnd - performance.now());
    const begun = performance.eventLoopUtilization();
    try {
      return await read();
    } finally {
      // By then the answer is serialized and sent, which takes longer than the read.
      setImmediate(() => {
        const { active } = performance.eventLoopUtilization(begun);
        const pause = Math.min(LONGEST_PAUSE_MS, 2 * active);
        pauseEnd = Math.max(pauseEnd, performance.now() + pause);
        end();
      });
    }
  };
}
