// Finds routes by the path of a request, whatever its method.
import type { Route } from './route.ts';
import { routes } from './routes.ts';

/** The routes whose path pattern fits this URL. An undecodable path fits too. */
export function routesAt(
  url: string,
  among: readonly Route[] = Object.values<Route>(routes),
): Route[] {
  const parts = (url.split('?', 1)[0] ?? '').split('/');
  return among.filter((route) => {
    const expected = route.path.split('/');
    return (
      expected.length === parts.length &&
      expected.every((part, i) => part.startsWith(':') || part === parts[i])
    );
  });
}

/** The value of `Allow` for these routes. */
export function allowedMethods(found: readonly Route[]): string {
  const methods = found.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
}
