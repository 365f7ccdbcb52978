import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that may wait for their answers at once. */
export const MOST_DUE = 32;

/** Node's own listeners of a connection, beside those of waiting requests. */
const LISTENERS_OF_NODE = 16;

interface Connection {
  due: Set<ServerResponse>;
  newest: IncomingMessage;
}

/** Which answers each connection still waits for. */
export class AnswersDue {
  readonly #connections = new Map<Socket, Connection>();

  /** Notes a request; false, and the connection is destroyed, when it is one too many or came after that. */
  admit(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.#connections.get(socket) ?? this.#open(socket, request);
    if (socket.destroyed || connection.due.size === MOST_DUE) {
      socket.destroy();
      return false;
    }
    connection.newest = request;
    connection.due.add(response);
    response.once('close', () => connection.due.delete(response));
    return true;
  }

  get any(): boolean {
    return [...this.#connections.values()].some(({ due }) => due.size > 0);
  }

  /**
   * Whether bytes written to the connection now are taken for the answer to what is arriving on it: no
   * earlier request waits, and what is arriving has no answer yet.
   */
  mayInterject(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return true;
    const { due, newest } = connection;
    const [first] = due;
    if (first === undefined) return newest.complete;
    return due.size === 1 && first.req === newest && !newest.complete && !first.headersSent;
  }

  #open(socket: Socket, newest: IncomingMessage): Connection {
    const connection = { due: new Set<ServerResponse>(), newest };
    // A destroyed connection never closes again, and must not stay here.
    if (socket.destroyed) return connection;
    this.#connections.set(socket, connection);
    setMaxListeners(MOST_DUE + LISTENERS_OF_NODE, socket);
    // An answer in the queue behind another gets no 'close' of its own.
    socket.once('close', () => this.#connections.delete(socket));
    return connection;
  }
}
