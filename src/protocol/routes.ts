// The route table, and the types of each route's request and answer.
import { type Static, type TSchema, Type } from 'typebox';
import { Hash, Nullable } from './fields.ts';
import { Verification } from './resources.ts';
import type { Route } from './route.ts';
import { accountRoutes } from './routes/account.ts';
import { alertRoutes } from './routes/alerts.ts';
import { anchoringAccountRoutes } from './routes/anchoring-accounts.ts';
import { cliSignInRoutes } from './routes/cli-sign-in.ts';
import { evidenceRoutes } from './routes/evidence.ts';
import { fleetRoutes } from './routes/fleets.ts';
import { identityRoutes } from './routes/identity.ts';
import { operationsRoutes } from './routes/operations.ts';
import { publicRoutes } from './routes/public.ts';
import { robotRoutes } from './routes/robots.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { streamRoutes } from './routes/stream.ts';
import { taskRoutes } from './routes/tasks.ts';
import { telemetryRoutes } from './routes/telemetry.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** Every endpoint, once. */
export const routes = {
  ...signInRoutes,
  ...cliSignInRoutes,
  ...accountRoutes,
  ...tokenRoutes,
  ...publicRoutes,
  ...anchoringAccountRoutes,
  ...robotRoutes,
  ...fleetRoutes,
  ...identityRoutes,
  ...taskRoutes,
  ...telemetryRoutes,
  ...evidenceRoutes,
  ...streamRoutes,
  ...webhookRoutes,
  ...alertRoutes,
  ...operationsRoutes,
} as const satisfies Record<string, Route>;

export type Routes = typeof routes;
export type RouteName = keyof Routes;

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

type Field<Name extends RouteName, Key extends 'params' | 'query' | 'body'> =
  Routes[Name] extends Record<Key, infer Schema extends TSchema> ? Static<Schema> : undefined;

export type Params<Name extends RouteName> = Field<Name, 'params'>;
export type Query<Name extends RouteName> = Field<Name, 'query'>;
export type Body<Name extends RouteName> = Field<Name, 'body'>;

/** Members that the route has. A query or body with only optional members may be omitted. */
export type Input<Name extends RouteName> = (Params<Name> extends undefined
  ? unknown
  : { params: Params<Name> }) &
  (Query<Name> extends undefined ? unknown : { query?: Query<Name> }) &
  (Body<Name> extends undefined ? unknown : { body: Body<Name> }) &
  RequestOptions;

interface RequestOptions {
  signal?: AbortSignal;
  /** In addition to those that the client sets, such as `prefer`. */
  headers?: Record<string, string>;
}

/** Any input. */
export interface LooseInput extends RequestOptions {
  params?: Record<string, string>;
  query?: Record<string, string | undefined>;
  body?: unknown;
}

/** A response that is not an error: status and body together, so that one determines the other. */
export type Answer<Name extends RouteName> = {
  [Status in keyof Routes[Name]['responses']]: {
    status: Status;
    body: Routes[Name]['responses'][Status] extends infer Schema extends TSchema
      ? Static<Schema>
      : never;
  };
}[keyof Routes[Name]['responses']];

/** The body of every error (docs/http-api.md, "Errors"); some codes add members. */
export const ErrorBody = Type.Object({
  error: Type.String(),
  message: Type.String(),
  retry_after: Type.Optional(Type.Integer({ minimum: 1 })),
  proof_hash: Type.Optional(Hash),
  same_evidence: Type.Optional(Nullable(Type.Boolean())),
  verification: Type.Optional(Verification),
});
