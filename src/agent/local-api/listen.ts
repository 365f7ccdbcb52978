// Opens the unix socket and the loopback port of the local API.
import { chmodSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { removeStaleSocket } from '../../base/sockets.ts';
import { SvcError } from '../../base/svc-error.ts';

/** Owner and group may connect. */
const SOCKET_MODE = 0o660;
const FOLDER_MODE = 0o750;

/**
 * Replaces a socket that a killed agent left behind.
 * @throws SvcError `cannot_listen`, also while another program listens
 */
export async function listenOnSocket(app: FastifyInstance, socket: string): Promise<void> {
  if (!(await removeStaleSocket(socket))) {
    throw new SvcError('cannot_listen', `Another program listens on SVC_AGENT_SOCKET ${socket}.`, {
      hint: 'Stop that program, or set another SVC_AGENT_SOCKET.',
    });
  }
  makeFolder(path.dirname(socket));
  // The socket must not be open to other users even for a moment.
  const umask = process.umask(0o117);
  try {
    await app.listen({ path: socket });
    chmodSync(socket, SOCKET_MODE);
  } catch (error) {
    throw cannotListen(`SVC_AGENT_SOCKET ${socket}`, SOCKET_HINT, error);
  } finally {
    process.umask(umask);
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  } catch (error) {
    throw cannotListen(`SVC_AGENT_SOCKET: cannot create ${folder}`, SOCKET_HINT, error);
  }
}

/** @throws SvcError `cannot_listen` */
export async function listenOnLoopback(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw cannotListen(`SVC_AGENT_LISTEN ${host}:${port}`, 'Choose another port.', error);
  }
}

const SOCKET_HINT = 'Put SVC_AGENT_SOCKET in a folder that svc-agent can write.';

function cannotListen(where: string, hint: string, cause: unknown): SvcError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  return new SvcError('cannot_listen', `Cannot listen on ${where} (${code}).`, { hint, cause });
}
