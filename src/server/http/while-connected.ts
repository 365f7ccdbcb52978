import type { Socket } from 'node:net';

/** Runs `work`, and calls `leave` when the connection closes before it has ended, at once where it is closed already. */
export async function whileConnected<T>(
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
