// The errors that a route can answer.
import type { ErrorCode } from '../errors.ts';
import type { Route } from '../route.ts';

/** Every error code of the route, each once: those implied by access, limit and body, then its own. */
export function errorsOf(route: Route): ErrorCode[] {
  const changes = route.method !== 'GET';
  const takesToken = /session/.test(route.access);
  const codes: ErrorCode[] = [
    'invalid_request',
    ...Object.values(route.fieldErrors ?? {}),
    ...Object.values(route.countErrors ?? {}),
    ...when(changes, ...bodyErrors),
    ...when(route.ownOriginOnly, 'forbidden_origin'),
    ...accessErrors[route.access],
    ...when(takesToken, 'invalid_token'),
    ...when(takesToken && (route.sessionOnly || changes), 'insufficient_scope'),
    ...when(route.access !== 'public' && changes && !route.isRead, 'account_suspended'),
    ...when(route.limit !== 'none', 'rate_limited'),
    ...route.errors,
    ...everywhere,
    // Every route below /api uses the database.
    ...when(route.path.startsWith('/api/'), 'storage_unavailable'),
  ];
  return [...new Set(codes)];
}

function when(applies: boolean | undefined, ...codes: ErrorCode[]): ErrorCode[] {
  return applies ? codes : [];
}

/** Also for routes without a body: they accept an empty one, and refuse one that they cannot read. */
export const bodyErrors = [
  'invalid_json',
  'payload_too_large',
  'unsupported_media_type',
  'forbidden_origin',
  'overloaded',
] as const;

export const accessErrors: Readonly<Record<Route['access'], readonly ErrorCode[]>> = {
  public: [],
  robot: ['missing_api_key', 'invalid_api_key'],
  session: ['missing_session', 'invalid_session'],
  robot_or_session: ['missing_api_key', 'invalid_api_key', 'invalid_session'],
};

export const everywhere = ['request_timeout', 'headers_too_large', 'internal_error'] as const;
