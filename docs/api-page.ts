// Generates docs/http-api.md from the route table.
import { readFileSync } from 'node:fs';
import { errors } from '../src/protocol/errors.ts';
import { limits } from '../src/protocol/limits.ts';
import { accessErrors, bodyErrors, everywhere } from '../src/protocol/openapi/errors-of.ts';
import type { Route } from '../src/protocol/route.ts';
import { routes } from '../src/protocol/routes.ts';

/** The interface as a page of Markdown, generated from the same tables as the OpenAPI document. */
export function apiPage(): string {
  return [
    '# HTTP interface',
    'Generated from `src/protocol` by `npm run docs`; a test fails when it is stale. A running service (`svc-server dev`) also shows the types, limits and meanings of all members, with examples of the bodies and responses, at `/docs`, and serves them as OpenAPI 3.1 at `/openapi.json`.',
    intro(),
    callList(),
    errorList(),
    limitList(),
    '',
  ].join('\n\n');
}

function intro(): string {
  return [
    '- Access. *Robot key*: `Authorization: Bearer svc_…`. *Session*: the cookie `svc_session`, which `POST /api/auth/verify` sets for 30 days; `svc` gets its own from `POST /api/auth/cli/token`. *Account*: a session, or an account token as `Authorization: Bearer svct_…`; endpoints without another note need this.',
    '- Bodies are JSON in UTF-8. Unknown fields and values of the wrong type are refused. In the body of a POST, null for an optional member counts as absent, unless its type allows null. Ids are UUIDs, returned in lower case. Times are ISO 8601 dates, or dates and times, and UTC if they have no offset. Texts have no U+0000, and required texts are not blank.',
    '- Lists return pages of 50 items. `limit` is 1 to 200, and `cursor` is the `next_cursor` of the previous page.',
    '- Every response has `X-Request-Id`, and `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` of the robot key or account. Calls with a valid robot key to a path under `/api/v1` count toward the limit of this key, except on public endpoints. Calls of an account count if they change something. On public endpoints, the headers have fixed values ([`unmeteredPerWindow`](#limits)). A 429 or 503 also has `Retry-After`.',
    `- Every error body has \`error\` and \`message\`; some add members, such as \`proof_hash\`. Every endpoint can return ${quoted('invalid_request', 'storage_unavailable', ...everywhere)}; one with another method than GET also ${quoted(...bodyErrors)}; one that accepts a robot key ${quoted(...accessErrors.robot)}; one that accepts a session or account token ${quoted(...accessErrors.session, 'invalid_token', 'insufficient_scope')}. Changes by a suspended account get ${quoted('account_suspended')}, and calls above a rate limit ${quoted('rate_limited')}.`,
    '- `GET /metrics` returns Prometheus text. Without `SVC_METRICS_TOKEN`, it answers only requests from loopback, otherwise requests with `Authorization: Bearer $SVC_METRICS_TOKEN`.',
  ].join('\n');
}

/** The calls by name, with the first clause of the summary; the OpenAPI document has the rest. */
function callList(): string {
  const items = Object.entries<Route>(routes).map(
    ([name, { method, path, summary, ...route }]) =>
      `- ${name}: \`${method} ${path}\`. ${summary.replace(/(\. |; ).*/s, '')}.${accessOf(route)}`,
  );
  return ['## Calls', items.join('\n')].join('\n\n');
}

function errorList(): string {
  const items = Object.entries(errors).map(
    ([code, { status, retryable, summary }]) =>
      `- \`${code}\` ${status}: ${summary}${retryable ? ' *(retry)*' : ''}`,
  );
  return [
    '## Errors',
    'After an error with *(retry)*, the same call can succeed later.',
    items.join('\n'),
  ].join('\n\n');
}

const units =
  'In names, `Ms` means milliseconds, `Bytes` means bytes (of a text in UTF-8), `Length` means Unicode code points, and `PerWindow` means in `windowMs`.';

function limitList(): string {
  const meanings = limitMeanings();
  const rows = Object.entries(limits).flatMap(([name, value]) => {
    const meaning = meanings.get(name);
    if (meaning === undefined) throw new Error(`The limit ${name} needs a comment.`);
    return typeof value === 'number'
      ? [`- ${name} ${value}: ${meaning}`]
      : Object.entries(value).map(([part, most]) => `- ${name}.${part} ${most}: ${meaning}`);
  });
  return ['## Limits', units, rows.join('\n')].join('\n\n');
}

/** The comment above each limit, as one line without its last period. */
function limitMeanings(): ReadonlyMap<string, string> {
  const source = readFileSync(new URL('../src/protocol/limits.ts', import.meta.url), 'utf8');
  const commented = source.matchAll(/^ {2}\/\*\*(.*?)\*\/\n {2}(\w+):/gms);
  return new Map(
    Array.from(commented, ([, comment = '', name = '']) => [
      name,
      comment
        .replace(/\s*\n\s*\*\s+/g, ' ')
        .trim()
        .replace(/\.$/, ''),
    ]),
  );
}

/** Who may call, unless it is an account. */
function accessOf({ access, sessionOnly }: Pick<Route, 'access' | 'sessionOnly'>): string {
  const allowed = sessionOnly ? 'a session' : callers[access];
  return allowed === '' ? '' : ` For ${allowed}.`;
}

const callers: Readonly<Record<Route['access'], string>> = {
  public: 'anyone',
  robot: 'a robot key',
  session: '',
  robot_or_session: 'a robot key or an account',
};

function quoted(...texts: string[]): string {
  return texts.map((text) => `\`${text}\``).join(', ');
}
