// Builds the OpenAPI document from the route table.
import { limits } from '../limits.ts';
import { operatorRoutes } from '../operator-api.ts';
import type { Route } from '../route.ts';
import { routes } from '../routes.ts';
import { exampleOf } from './example.ts';
import { type Names, namedSchemas, plain, withRefs } from './references.ts';
import { headers, responsesOf } from './responses.ts';

export type OpenApiDocument = ReturnType<typeof documentOf>;

/** What the document describes. `token`: the one scheme of all its operations. */
interface Api {
  routes: Readonly<Record<string, Route>>;
  title: string;
  description: string;
  token?: string;
}

const publicApi: Api = {
  routes,
  title: 'svc: robot task proof anchoring',
  description: [
    'Anchors hashes of robot evidence on a public EVM chain and returns receipts that anyone can check.',
    'Bodies are JSON in UTF-8; unknown fields are refused, and null for an optional field of a POST body means that it is absent.',
    'Timestamps in responses are UTC with milliseconds, addresses have the EIP-55 checksum, and amounts in wei and block numbers are decimal strings.',
    `Limits per minute: ${limits.robotCallsPerWindow} requests with a robot key, ${limits.accountMutationsPerWindow} changes by an account, ${limits.challengesPerWindow} challenges for a wallet.`,
  ].join(' '),
};

const operatorApi: Api = {
  routes: operatorRoutes,
  title: 'svc: operator API',
  description:
    'Grants credits and suspends accounts. It listens on SVC_OPERATOR_LISTEN alone, and every call needs the token of SVC_OPERATOR_TOKEN_FILE.',
  token: 'the content of SVC_OPERATOR_TOKEN_FILE',
};

/** The operator API as an OpenAPI 3.1 document. */
export function operatorApiDocument(version: string): OpenApiDocument {
  return documentOf(operatorApi, version);
}

/** The whole interface as an OpenAPI 3.1 document, derived from routes, errors and limits. */
export function openApiDocument(version: string): OpenApiDocument {
  return documentOf(publicApi, version);
}

function documentOf({ routes, title, description, token }: Api, version: string) {
  const named = namedSchemas();
  const paths: Record<string, Record<string, ReturnType<typeof operationOf>>> = {};
  const tags = new Set<string>();
  for (const [name, route] of Object.entries(routes)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const operation = operationOf(name, route, named);
    if (token !== undefined) operation.security = [{ operatorToken: [] }];
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
    for (const tag of operation.tags) tags.add(tag);
  }
  return {
    openapi: '3.1.0' as const,
    info: { title, version, license: { name: 'MIT License', identifier: 'MIT' }, description },
    servers: [{ url: '/' }],
    tags: [...tags].map((tag) => ({ name: tag, description: tagTexts[tag] ?? '' })),
    paths,
    components: {
      securitySchemes: token
        ? { operatorToken: bearer(token) }
        : {
            robotKey: bearer('API key of a robot: svc_ and 40 lowercase hex digits'),
            session: {
              type: 'apiKey',
              in: 'cookie',
              name: 'svc_session',
              description: 'Set by POST /api/auth/verify; valid for 30 days',
            },
            accountToken: bearer('account token: svct_ and 40 lowercase hex digits'),
          },
      headers,
      schemas: Object.fromEntries(
        [...named].map(([text, name]) => {
          const others = new Map([...named].filter(([other]) => other !== text));
          return [name, withRefs(JSON.parse(text), others)];
        }),
      ),
    },
  };
}

function operationOf(name: string, route: Route, named: Names) {
  const parameters = parametersOf(route, named);
  return {
    operationId: name,
    tags: [tagOf(route.path)],
    summary: route.summary,
    description: [
      route.description,
      countedBy[route.limit],
      route.cors && 'Any origin may read the response.',
    ]
      .filter(Boolean)
      .join(' '),
    security: route.sessionOnly ? [{ session: [] }] : security[route.access],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: withRefs(plain(route.body), named),
            example: route.example ?? exampleOf(plain(route.body)),
          },
        },
      },
    }),
    responses: responsesOf(route, named),
  };
}

function parametersOf(route: Route, named: Names) {
  return (['path', 'query'] as const).flatMap((place) => {
    const schema = plain((place === 'path' ? route.params : route.query) ?? { properties: {} });
    return Object.entries(schema.properties ?? {}).map(([name, member]) => ({
      name,
      in: place,
      required: place === 'path' || (schema.required ?? []).includes(name),
      ...(member.description !== undefined && { description: member.description }),
      schema: withRefs(member, named),
      example: exampleOf(member, name),
    }));
  });
}

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description });

const security: Readonly<Record<Route['access'], Record<string, never[]>[]>> = {
  public: [],
  robot: [{ robotKey: [] }],
  session: [{ session: [] }, { accountToken: [] }],
  robot_or_session: [{ robotKey: [] }, { session: [] }, { accountToken: [] }],
};

const countedBy: Readonly<Record<Route['limit'], string>> = {
  robot: 'Counts toward the limit of the robot.',
  account: 'Counts toward the limit of the account.',
  challenge: 'Counts toward the limit of the wallet.',
  none: 'Not rate limited.',
};

function tagOf(path: string): string {
  if (path.startsWith('/api/auth/')) return 'sign-in';
  if (
    !path.startsWith('/api/') &&
    Object.values<Route>(operatorRoutes).some((route) => route.path === path)
  )
    return 'operator';
  const [, first = ''] = /^\/api\/(?:v1\/)?([\w-]+)/.exec(path) ?? [];
  return tags[first] ?? (first === '' ? 'operations' : first);
}

/** By tag, what its routes are for. */
const tagTexts: Readonly<Record<string, string>> = {
  operator: 'Accounts, credits and refused calls',
  'sign-in': 'Sign in with a wallet, in a browser or from the command line',
  public: 'What anyone may read: verification and the chain',
  tasks: 'Claims, evidence and receipts',
  telemetry: 'Samples of robots',
  events: 'What robots report',
  stats: 'Counts for the overview',
  stream: 'What changes, as it happens',
  robots: 'Robots and their keys',
  identity: 'The keys that robots sign with',
  statements: 'What robots sign about their work',
  fleets: 'Groups of robots',
  access: 'Account tokens and the audit log',
  webhooks: 'Messages to HTTPS endpoints',
  alerts: 'Alerts and their rules',
  account: 'Credits, sessions and limits of the account',
  transactions: 'Anchoring transactions',
  operations: 'Health, readiness and this document',
};

const tags: Readonly<Record<string, string>> = {
  chain: 'public',
  verify: 'public',
  leaves: 'public',
  robot: 'robots',
  me: 'account',
  credits: 'account',
  sessions: 'account',
  tokens: 'access',
  'audit-log': 'access',
  'webhook-deliveries': 'webhooks',
  'alert-rules': 'alerts',
  'service-status': 'operations',
  report: 'stats',
};
