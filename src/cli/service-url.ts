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
      hint: 'Give its origin, such as https://svc.example.org.',
    });
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new SvcError('usage', 'The address of the service must begin with https://.');
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
