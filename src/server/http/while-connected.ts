import type { FastifyRequest } from 'fastify';
import { fault } from '../core/fault.ts';

/** Runs `work` with a signal that aborts when the connection of the request closes before it has ended. */
export async function whileConnected<T>(
  { raw: { socket } }: FastifyRequest,
  work: (gone: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController();
  const leave = () => gone.abort(fault('invalid_request', 'The connection was closed.'));
  // Not the response's 'close': one in the queue behind another would not get it.
  socket.once('close', leave);
  if (socket.destroyed) leave();
  try {
    return await work(gone.signal);
  } finally {
    socket.off('close', leave);
  }
}
