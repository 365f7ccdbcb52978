// Security headers of API responses and pages.
import type { FastifyHelmetOptions } from '@fastify/helmet';
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import { opensPage } from './errors.ts';

/** Loads nothing and may not be framed: the policy of JSON responses, and the basis of that of pages. */
const closed = {
  'default-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** The policy of a page: it loads its own scripts and styles, and nothing from elsewhere. */
const forPages: FastifyHelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      ...closed,
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
    },
  },
};

type Headers = Record<string, string>;

/** Sets the security headers on every response. `https`: whether the service is reached over https. */
export function addSecurityHeaders(app: FastifyInstance, https: boolean): void {
  let headers: { forResponses: Headers; forPages: Headers };
  app.addHook('onReady', async () => {
    headers = await readHeaders(https);
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { route, page } = request.routeOptions.config;
    const isPage = page === 'html' || (!route && opensPage(request));
    reply.headers(isPage ? headers.forPages : headers.forResponses);
    done();
  });
}

/** Allows the style elements of this document that carry the nonce. */
export function allowStyles(reply: FastifyReply, nonce: string): void {
  const policy = String(reply.getHeader('content-security-policy'));
  reply.header(
    'content-security-policy',
    policy.replace("style-src 'self'", `style-src 'self' 'nonce-${nonce}'`),
  );
}

/**
 * Reads the headers that helmet sets, once: they are the same for every request, and computing them for each costs a
 * busy server 4 %.
 */
async function readHeaders(https: boolean) {
  const sample = Fastify();
  await sample.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: closed },
    strictTransportSecurity: https && { maxAge: 365 * 24 * 60 * 60 },
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  });
  const readSet = async (_: FastifyRequest, reply: FastifyReply) => reply.raw.getHeaders();
  sample.get('/answer', readSet);
  sample.get('/page', { helmet: forPages }, readSet);
  const read = async (path: string) => (await sample.inject(path)).json<Headers>();
  const headers = { forResponses: await read('/answer'), forPages: await read('/page') };
  await sample.close();
  return headers;
}
