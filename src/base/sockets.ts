// Requests, servers and unix sockets, each with a listener for its errors from the beginning.
import { lstatSync, rmSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { createConnection, type Server } from 'node:net';
import type { Logger } from './logger.ts';

/**
 * Sends a request, and resolves with its response. Rejects if the connection ends without one. Later errors, such as of
 * sending the rest of the body, mean nothing.
 */
export function responseTo(sent: ClientRequest, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('response', resolve);
    sent.on('error', reject);
    // Node.js reports no error for an answer that changes the protocol.
    sent.on('close', () => reject(new Error('the connection was closed')));
    sent.end(body);
  });
}

/**
 * Logs errors of accepting, for example when callers hold all file descriptors. Without a listener, such an error ends
 * the process. Errors of listening are left to the caller of `listen`.
 */
export function keepServing<Kind extends Server>(server: Kind, logger: Pick<Logger, 'warn'>): Kind {
  return server.on('error', (error) => {
    if (server.listening) logger.warn({ err: error }, 'failed to accept a connection');
  });
}

/** Removes a socket that a killed program left behind. False, removing nothing, if a program listens on it. */
export async function removeStaleSocket(socket: string): Promise<boolean> {
  const isAnswering = await new Promise<boolean>((resolve) => {
    const attempt = createConnection(socket);
    attempt.once('connect', () => {
      attempt.destroy();
      resolve(true);
    });
    attempt.on('error', () => resolve(false));
  });
  // Never another file that a wrong setting names.
  const isSocket = lstatSync(socket, { throwIfNoEntry: false })?.isSocket() ?? false;
  if (!isAnswering && isSocket) rmSync(socket);
  return !isAnswering;
}
