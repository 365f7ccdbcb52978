// Adds a tag to the answers of reads, answers 304 if the caller has the same content, and compresses with gzip.
import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGzip, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Below this many characters, gzip saves less than it costs. */
const SMALL = 2048;

/**
 * Tags the good answers of the table's GET routes with a hash of their content, and compresses those of the dashboard
 * and the OpenAPI document. None of them contains a key or a token: the size of a compressed answer could reveal it.
 */
export function addRepresentations(app: FastifyInstance): void {
  /** The OpenAPI document never changes, so it is compressed once. */
  let openApi: Buffer | null = null;

  app.addHook('onSend', (request, reply, payload, done) => {
    const { route, name } = request.routeOptions.config;
    if (route?.method !== 'GET' || route.stream || reply.statusCode !== 200) {
      return done(null, payload);
    }
    const zips = (route.access === 'session' || name === 'getOpenApi') && takesGzip(request, reply);
    if (payload instanceof Readable) {
      if (zips) reply.header('content-encoding', 'gzip');
      return done(null, zips ? pipeline(payload, createGzip(), () => {}) : payload);
    }
    if (typeof payload !== 'string') return done(null, payload);
    const tag = `W/"${createHash('sha1').update(payload).digest('base64url')}"`;
    reply.header('etag', tag);
    if (isKnown(request.headers['if-none-match'], tag)) {
      reply.status(304).removeHeader('content-type');
      return done(null, '');
    }
    if (!zips || payload.length < SMALL) return done(null, payload);
    reply.header('content-encoding', 'gzip');
    if (name === 'getOpenApi' && openApi !== null) return done(null, openApi);
    // In a thread of libuv.
    gzip(payload, (error, zipped) => {
      if (error !== null) return done(null, payload);
      if (name === 'getOpenApi') openApi = zipped;
      done(null, zipped);
    });
  });
}

function takesGzip({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'Accept, Accept-Encoding');
  const accepted = String(headers['accept-encoding'] ?? '').toLowerCase();
  if (/\bgzip *; *q=0(\.0*)? *(,|$)/.test(accepted)) return false;
  return accepted.split(',').some((one) => /^ *(gzip|\*) *(;q=(1|0\.0*[1-9]).*)?$/.test(one));
}

/** Compared weakly, as RFC 9110 asks for If-None-Match. */
function isKnown(tags: string | undefined, tag: string): boolean {
  return (tags ?? '').split(',').some((one) => [tag, tag.slice(2), '*'].includes(one.trim()));
}
