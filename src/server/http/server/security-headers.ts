// Security headers of answers and pages.
import type { FastifyHelmetOptions } from '@fastify/helmet';
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';

/** Nothing is loaded and nothing frames it: right for JSON, and where pages start from. */
const closed = {
  'default-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** Of a page that loads its own scripts and styles, and nothing from elsewhere. */
const ofPages: FastifyHelmetOptions = {
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

/** Puts the security headers on every answer; `https` where the service is reached over it. */
export function addSecurityHeaders(app: FastifyInstance, https: boolean): void {
  let headers: { ofAnswers: Headers; ofPages: Headers };
  app.addHook('onReady', async () => {
    headers = await readHeaders(https);
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { page } = request.routeOptions.config;
    reply.headers(page === 'html' ? headers.ofPages : headers.ofAnswers);
    done();
  });
}

/** Lets in the style elements of this one document that carry the nonce. */
export function allowStyles(reply: FastifyReply, nonce: string): void {
  const policy = String(reply.getHeader('content-security-policy'));
  reply.header(
    'content-security-policy',
    policy.replace("style-src 'self'", `style-src 'self' 'nonce-${nonce}'`),
  );
}

/** What helmet sets is the same for every request, and costs a busy server 4 % where it is made for each. */
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
  sample.get('/page', { helmet: ofPages }, readSet);
  const read = async (path: string) => (await sample.inject(path)).json<Headers>();
  const headers = { ofAnswers: await read('/answer'), ofPages: await read('/page') };
  await sample.close();
  return headers;
}
