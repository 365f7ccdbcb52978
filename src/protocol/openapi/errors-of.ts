// The errors that a route can answer.
import type { ErrorCode } from '../errors.ts';
import type { Route } from '../route.ts';

/** Every error code of the route, each once: those implied by access, limit and body, then its own. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = [
    'invalid_request',
    ...Object.values(route.fieldErrors ?? {}),
    ...Object.values(route.countErrors ?? {}),
    ...(route.method === 'GET' ? [] : bodyErrors),
    ...(route.ownOriginOnly ? (['forbidden_origin'] as const) : []),
    ...accessErrors[route.access],
    ...(/session/.test(route.access) ? (['invalid_token'] as const) : []),
    ...(/session/.test(route.access) && (route.sessionOnly || route.method !== 'GET')
      ? (['insufficient_scope'] as const)
      : []),
    ...(route.access !== 'public' && route.method !== 'GET'
      ? (['account_suspended'] as const)
      : []),
    ...(route.limit === 'none' ? [] : (['rate_limited'] as const)),
    ...route.errors,
    ...everywhere,
    // Every route below /api uses the database.
    ...(route.path.startsWith('/api/') ? (['storage_unavailable'] as const) : []),
  ];
  return [...new Set(codes)];
}

/** Also for routes without a body: they accept an empty one, and refuse one that they cannot read. */
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
