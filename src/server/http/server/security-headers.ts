// Security headers of API responses and pages.

import type { FastifyInstance, FastifyReply } from 'fastify';
import { opensPage } from './unmatched.ts';

/** Loads nothing and may not be framed: the policy of JSON responses, and the basis of that of pages. */
const CLOSED = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'";

/** The policy of a page: it loads its own scripts and styles, and nothing from elsewhere. */
const OF_PAGES = `${CLOSED};script-src 'self';style-src 'self';img-src 'self' data: blob:;media-src blob:;font-src 'self';connect-src 'self'`;

/** As the OWASP Secure Headers project recommends them. */
const ALWAYS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
};
const HTTPS_ONLY = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };

/** Sets the security headers on every response. `https`: whether the service is reached over https. */
export function addSecurityHeaders(app: FastifyInstance, https: boolean): void {
  const always = { ...ALWAYS, ...(https && HTTPS_ONLY) };
  const forResponses = { ...always, 'content-security-policy': CLOSED };
  const forPages = { ...always, 'content-security-policy': OF_PAGES };
  app.addHook('onRequest', (request, reply, done) => {
    const { route, page } = request.routeOptions.config;
    const isPage = page === 'html' || (!route && opensPage(request));
    reply.headers(isPage ? forPages : forResponses);
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
