import type { FastifyRequest } from 'fastify';
import { fault } from '../core/fault.ts';
import { accountOf, LARGE, MIB } from './request-body.ts';

/** Large bodies that may be on their way, of one account and of all, in bytes. */
const ARRIVING = { ofOne: 32 * MIB, inAll: 256 * MIB };

/**
 * Refuses a large body, before anything of it is read, where too much is on its way: what has arrived of a body
 * stands in memory until the rest has, which a slow sender puts off for as long as it may.
 */
export function createArrivalBound(): (request: FastifyRequest) => void {
  const arriving = new Map<string, number>();
  let inAll = 0;

  function add(account: string, bytes: number): void {
    const ofOne = (arriving.get(account) ?? 0) + bytes;
    if (ofOne === 0) arriving.delete(account);
    else arriving.set(account, ofOne);
    inAll += bytes;
  }

  return (request) => {
    const bytes = mostBytes(request);
    if (bytes <= LARGE) return;
    const account = accountOf(request);
    if ((arriving.get(account) ?? 0) + bytes > ARRIVING.ofOne || inAll + bytes > ARRIVING.inAll) {
      throw fault('overloaded', 'Too many large bodies are on their way; nothing was done.');
    }
    add(account, bytes);
    let isArriving = true;
    const leave = () => {
      if (isArriving) add(account, -bytes);
      isArriving = false;
    };
    request.raw.once('end', leave);
    // Without the rest.
    request.raw.once('close', leave);
  };
}

/** Of the request's body that are ever read; one without an announced length may have as many as its route takes. */
function mostBytes({ headers, routeOptions: { bodyLimit } }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  const announced = Number(headers['content-length'] ?? 0);
  return announced > bodyLimit ? 0 : announced;
}
