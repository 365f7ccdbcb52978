import { isLoopback } from '../base/loopback.ts';
import { SvcError } from '../base/svc-error.ts';

/**
 * Origin of a service, from what a person typed. Throws `usage` where it is no http address, has more than
 * an origin in it, or would send a session in the clear to another machine.
 */
export function serviceOrigin(text: string, insecureHttp: boolean): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new SvcError('usage', 'The address of the service is not a URL.', {
      hint: originHint(text),
    });
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new SvcError('usage', 'The address of the service must begin with https://.', {
      hint: originHint(text),
    });
  }
  if (url.username || url.password || url.pathname !== '/' || url.search || url.hash) {
    throw new SvcError('usage', 'The address of the service must be an origin alone.', {
      hint: `Without path, query and credentials: ${url.origin}`,
    });
  }
  if (url.protocol === 'http:' && !insecureHttp && !isLoopback(url.hostname)) {
    throw new SvcError('usage', `${url.origin} would send your session in the clear.`, {
      hint: 'Use https, or accept that with --insecure-http.',
    });
  }
  return url.origin;
}

/** With the scheme in front, where that is all that is missing. */
function originHint(text: string): string {
  const [, host] = /^([\w.-]+|\[::1\])(:\d+)?\/?$/.exec(text) ?? [];
  if (host === undefined) return 'Give its origin, such as https://svc.example.org.';
  return `Did you mean ${isLoopback(host) ? 'http' : 'https'}://${text}?`;
}
