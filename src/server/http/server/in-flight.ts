// Requests whose answers are not written yet, and requests that wait.
import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that may wait for their answers at once. */
export const MOST_DUE = 32;

/** Node's own listeners of a connection, beside those of waiting requests. */
const LISTENERS_OF_NODE = 16;

interface Connection {
  /**
   * Counted, not collected: a Set that is added to and deleted from leaves its tables to the garbage, and V8 has each
   * hold the next, so that every request would stay until the whole heap is collected.
   */
  due: number;
  newest: ServerResponse;
}

/** Which answers each connection still waits for. */
export class InFlightRequests {
  readonly #connections = new Map<Socket, Connection>();

  /** Notes a request; false, and the connection is destroyed, when it is one too many or came after that. */
  admit(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.#connections.get(socket) ?? this.#open(socket, response);
    if (socket.destroyed || connection.due === MOST_DUE) {
      socket.destroy();
      return false;
    }
    connection.newest = response;
    connection.due += 1;
    response.once('close', () => {
      connection.due -= 1;
    });
    return true;
  }

  /** Whether the connection waits for an answer that is not written to it yet. */
  isAwaited(socket: Socket): boolean {
    return (this.#connections.get(socket)?.due ?? 0) > 0 && socket.writableLength === 0;
  }

  /**
   * Ends connections, those with most in memory first, until what their clients have not taken of their answers is
   * at most `bytes`.
   */
  boundUnread(bytes: number): void {
    let unread = 0;
    for (const { writableLength } of this.#connections.keys()) unread += writableLength;
    if (unread <= bytes) return;
    const largest = [...this.#connections.keys()].toSorted(
      (a, b) => b.writableLength - a.writableLength,
    );
    for (const socket of largest) {
      if (unread <= bytes) return;
      unread -= socket.writableLength;
      socket.destroy();
    }
  }

  get any(): boolean {
    return [...this.#connections.values()].some(({ due }) => due > 0);
  }

  /**
   * Whether bytes written to the connection now are taken for the answer to what is arriving on it: no
   * earlier request waits, and what is arriving has no answer yet.
   */
  mayInterject(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return true;
    const { due, newest } = connection;
    if (due === 0) return newest.req.complete;
    // Answers go out in their order: the only one that is due is the newest.
    return due === 1 && !newest.req.complete && !newest.headersSent;
  }

  #open(socket: Socket, newest: ServerResponse): Connection {
    const connection = { due: 0, newest };
    // A destroyed connection never closes again, and must not stay here.
    if (socket.destroyed) return connection;
    this.#connections.set(socket, connection);
    setMaxListeners(MOST_DUE + LISTENERS_OF_NODE, socket);
    // An answer in the queue behind another gets no 'close' of its own.
    socket.once('close', () => this.#connections.delete(socket));
    return connection;
  }
}

/** Runs `work` with a controller that aborts when the caller is gone or the server shuts down. */
export type Wait = <T>(socket: Socket, work: (enough: AbortController) => Promise<T>) => Promise<T>;

/**
 * One listener of the server's signal for all waits: a signal's listeners are walked at each one that is added, and
 * thousands of requests may wait.
 */
export function createRequestAborts(stopping: AbortSignal): Wait {
  const waiting = new Set<AbortController>();
  stopping.addEventListener('abort', () => {
    for (const enough of waiting) enough.abort();
  });
  return async (socket, work) => {
    const enough = new AbortController();
    const leave = () => enough.abort();
    waiting.add(enough);
    if (stopping.aborted) leave();
    try {
      return await abortOnDisconnect(socket, leave, () => work(enough));
    } finally {
      waiting.delete(enough);
    }
  };
}

/** Runs `work`, and calls `leave` when the connection closes before it has ended, at once where it is closed already. */
export async function abortOnDisconnect<T>(
  socket: Socket,
  leave: () => void,
  work: () => Promise<T>,
): Promise<T> {
  // Not the response's 'close': one in the queue behind another would not get it.
  socket.once('close', leave);
  if (socket.destroyed) leave();
  try {
    return await work();
  } finally {
    socket.off('close', leave);
  }
}
