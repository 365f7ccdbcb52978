// Generates docs/http-api.md from the route table.
import { readFileSync } from 'node:fs';
import { errors } from '../src/protocol/errors.ts';
import { limits } from '../src/protocol/limits.ts';
import { accessErrors, bodyErrors, everywhere } from '../src/protocol/openapi/errors-of.ts';
import { exampleOf } from '../src/protocol/openapi/example.ts';
import { plain } from '../src/protocol/openapi/references.ts';
import type { Route } from '../src/protocol/route.ts';
import { routes } from '../src/protocol/routes.ts';

/** The interface as a page of Markdown, generated from the same tables as the OpenAPI document. */
export function apiPage(): string {
  return [
    '# HTTP interface',
    'Generated from `src/protocol` by `npm run docs`; a test fails when it is stale. A running service shows this reference at `/docs`, and serves it as OpenAPI 3.1 at `/openapi.json`.',
    intro(),
    ...Object.entries<Route>(routes).map(([name, route]) => section(name, route)),
    errorTable(),
    limitTable(),
    '',
  ].join('\n\n');
}

function intro(): string {
  return [
    '- A robot sends its API key: `Authorization: Bearer svc_…`. A browser sends the session cookie `svc_session`, which `POST /api/auth/verify` sets for 30 days. A script sends an account token: `Authorization: Bearer svct_…`. After a sign-in through a browser, `svc` gets its own session from `POST /api/auth/cli/token`, and sends this session in the cookie `svc_session`.',
    '- Bodies are JSON in UTF-8. Unknown fields are refused; the error names the field, and the known one that is nearest. Values of the wrong type are refused, not converted. Ids are returned in lower case and times in UTC. In the body of a POST, an optional member that is null counts as absent, unless its type allows null.',
    '- Every response has `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` and `X-Request-Id`. For an authenticated caller, the first three show the count of the robot key or the account. A request with a valid robot key to a path under `/api/v1` counts toward the limit of this key, even if the endpoint accepts no robot key. Exception: requests to public endpoints (`Access: anyone`) do not count toward this limit. For accounts, requests to endpoints with `Rate limit: none` do not count. On public endpoints with `Rate limit: none`, the first three headers have fixed values (see [`unmeteredPerWindow`](#limits)). A 429 or 503 also has `Retry-After`.',
    `- Every error body has \`error\` and \`message\`; some errors add members, such as \`proof_hash\` or \`retry_after\`. Endpoints name only errors of their own; the OpenAPI document lists all. Every endpoint can return ${quoted('invalid_request', 'storage_unavailable', ...everywhere)}; one with another method than GET also ${quoted(...bodyErrors)}; one that accepts a robot key ${quoted(...accessErrors.robot)}; one that accepts a session or account token ${quoted(...accessErrors.session, 'invalid_token', 'insufficient_scope')}. Changes by a suspended account get ${quoted('account_suspended')}, and calls above a rate limit ${quoted('rate_limited')}.`,
    '- `GET /metrics` returns Prometheus text. Without `SVC_METRICS_TOKEN`, this endpoint answers only requests from loopback. With `SVC_METRICS_TOKEN`, this endpoint answers every request that has the header `Authorization: Bearer $SVC_METRICS_TOKEN`.',
  ].join('\n');
}

function section(name: string, route: Route): string {
  const { method, path, summary, description, example } = route;
  const own = [route.fieldErrors, route.countErrors, route.errors];
  const codes = new Set(own.flatMap((some) => Object.values(some ?? {})));
  return [
    `## ${name}`,
    `\`${method} ${path}\`: ${summary}.${description === undefined ? '' : ` ${description}`}`,
    `Access: ${route.sessionOnly ? 'session' : access[route.access]}. Rate limit: ${counted[route.limit]}.`,
    ...memberLists(route),
    ...(example === undefined ? [] : ['Body:', json(example)]),
    ...Object.entries(route.responses).flatMap(([status, schema]) => [
      `Response ${status}:`,
      json(exampleOf(plain(schema))),
    ]),
    ...(codes.size === 0 ? [] : [`Errors: ${quoted(...codes)}.`]),
  ].join('\n\n');
}

function memberLists({ query, body }: Route): string[] {
  const lists = [
    { title: 'Query', schema: query },
    { title: 'Body', schema: body },
  ];
  return lists.flatMap(({ title, schema }) => {
    const { properties = {}, required = [] } = schema ? plain(schema) : {};
    const rows = Object.entries(properties).map(([name, member]) => {
      const need = required.includes(name) ? 'yes' : 'no';
      return `| ${name} | ${typeOf(member)} | ${need} | ${(member.description ?? '').replaceAll('|', '\\|')} |`;
    });
    if (rows.length === 0) return [];
    return [`| ${title} | type | required | |\n|---|---|---|---|\n${rows.join('\n')}`];
  });
}

function typeOf(schema: ReturnType<typeof plain>): string {
  const { type, anyOf, const: value, enum: values, maxLength } = schema;
  if (value !== undefined) return `\`${value}\``;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' or ');
  return `${type ?? 'any'}${maxLength === undefined ? '' : `, at most ${maxLength}`}`;
}

function errorTable(): string {
  const rows = Object.entries(errors).map(
    ([code, { status, retryable, summary }]) =>
      `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${summary} |`,
  );
  return [
    '## Errors',
    ['| code | status | retry may succeed | when |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n');
}

const units =
  'In the names of limits, `Ms` means milliseconds, `Bytes` means bytes, and `Length` means Unicode code points. The bytes of a text are the bytes of its UTF-8 form. A rate limit (`PerWindow`) counts requests in `windowMs`.';

function limitTable(): string {
  const meanings = limitMeanings();
  const rows = Object.entries(limits).flatMap(([name, value]) => {
    const meaning = meanings.get(name);
    if (meaning === undefined) throw new Error(`The limit ${name} needs a comment.`);
    return typeof value === 'number'
      ? [`| ${name} | ${value} | ${meaning} |`]
      : Object.entries(value).map(([part, most]) => `| ${name}.${part} | ${most} | ${meaning} |`);
  });
  const table = ['| limit | value | meaning |', '|---|---|---|', ...rows].join('\n');
  return ['## Limits', units, table].join('\n\n');
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

const access: Readonly<Record<Route['access'], string>> = {
  public: 'anyone',
  robot: 'robot key',
  session: 'session or account token',
  robot_or_session: 'robot key, session or account token',
};

const counted: Readonly<Record<Route['limit'], string>> = {
  robot: 'per robot, for calls with a robot key',
  account: 'per account',
  challenge: 'per wallet',
  none: 'none',
};

function quoted(...texts: string[]): string {
  return texts.map((text) => `\`${text}\``).join(', ');
}

function json(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}
