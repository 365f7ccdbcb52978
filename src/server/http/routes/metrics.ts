// Serves `GET /metrics`.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopback } from '../../../base/loopback.ts';
import { wireError } from '../../ports/errors.ts';
import { bearerKey, sameSecret } from '../server/credentials.ts';

export interface Metrics {
  /** The Bearer token that every reader must send; without one, only peers on loopback may read. */
  token: string | null;
  read(): Promise<{ contentType: string; text: string }>;
}

/** Serves `/metrics` to authorized readers. Anyone else gets the error of an unknown endpoint. */
export async function metricsPage(scope: FastifyInstance, metrics: Metrics): Promise<void> {
  scope.get('/metrics', { config: { page: 'text' } }, async (request, reply) => {
    if (!mayRead(request, metrics.token))
      throw wireError('not_found', 'This endpoint does not exist.');
    const { contentType, text } = await metrics.read();
    return reply.header('content-type', contentType).send(text);
  });
}

function mayRead(request: FastifyRequest, token: string | null): boolean {
  if (token !== null) return sameSecret(bearerKey(request) ?? '', token);
  // A local proxy, or a browser sent here by a DNS name, acts for someone else: refuse both.
  const proxied = Object.keys(request.headers).some((name) =>
    /^(via|forwarded|x-real-ip|x-forwarded-.*)$/.test(name),
  );
  const peer = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return !proxied && isLoopback(peer) && isLoopback(request.hostname);
}
