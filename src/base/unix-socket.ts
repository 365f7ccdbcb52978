// Looks at the file of a unix socket.
import { lstatSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';

/** Removes a socket that a killed program left behind. False, removing nothing, if a program listens on it. */
export async function removeStaleSocket(socket: string): Promise<boolean> {
  const isAnswering = await new Promise<boolean>((resolve) => {
    const attempt = createConnection(socket);
    attempt.once('connect', () => {
      attempt.destroy();
      resolve(true);
    });
    attempt.once('error', () => resolve(false));
  });
  // Never another file that a wrong setting names.
  const isSocket = lstatSync(socket, { throwIfNoEntry: false })?.isSocket() ?? false;
  if (!isAnswering && isSocket) rmSync(socket);
  return !isAnswering;
}
