// The errors that a route can answer.
import type { ErrorCode } from '../errors.ts';
import type { Route } from '../route.ts';

/** Every error a call of the route can get, each once: what access, limit and body imply, then its own. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = [
    'invalid_request',
    ...Object.values(route.fieldErrors ?? {}),
    ...Object.values(route.countErrors ?? {}),
    ...(route.method === 'GET' ? [] : bodyErrors),
    ...(route.ownOriginOnly ? (['forbidden_origin'] as const) : []),
    ...accessErrors[route.access],
    ...(route.limit === 'none' ? [] : (['rate_limited'] as const)),
    ...route.errors,
    ...everywhere,
    // Whatever is under /api works with the store.
    ...(route.path.startsWith('/api/') ? (['storage_unavailable'] as const) : []),
  ];
  return [...new Set(codes)];
}

/** A route without a body takes an empty one, and so refuses what it cannot read. */
const bodyErrors = [
  'invalid_json',
  'payload_too_large',
  'unsupported_media_type',
  'forbidden_origin',
  'overloaded',
] as const;

const accessErrors: Readonly<Record<Route['access'], readonly ErrorCode[]>> = {
  public: [],
  robot: ['missing_api_key', 'invalid_api_key'],
  session: ['missing_session', 'invalid_session'],
  robot_or_session: ['missing_api_key', 'invalid_api_key', 'invalid_session'],
};

const everywhere = ['request_timeout', 'headers_too_large', 'internal_error'] as const;
