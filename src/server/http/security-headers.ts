import type { FastifyHelmetOptions } from '@fastify/helmet';

/** Nothing is loaded and nothing frames it: right for JSON, and where pages start from. */
const closed = {
  'default-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** Security headers of every answer; `https` where the service is reached over it. */
export function securityHeaders(https: boolean): FastifyHelmetOptions {
  return {
    contentSecurityPolicy: { useDefaults: false, directives: closed },
    strictTransportSecurity: https && { maxAge: 365 * 24 * 60 * 60 },
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  };
}

/** Of a page that loads its own scripts and styles, and nothing from elsewhere. */
export const pageSecurityHeaders: FastifyHelmetOptions = {
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
