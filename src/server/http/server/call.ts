// A call as a handler gets it: caller, parameters, body.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SvcError } from '../../../base/svc-error.ts';
import type { ErrorCode } from '../../../protocol/errors.ts';
import type { Route } from '../../../protocol/route.ts';
import type { Answer, Body, Params, Query, RouteName, Routes } from '../../../protocol/routes.ts';
import type { JsonText } from '../../core/paging.ts';
import type { RobotCaller } from '../../ports/robots.ts';
import type { AccountCaller } from '../../ports/sign-in.ts';
import type { Viewer } from '../../ports/tasks.ts';
import type { Csv } from './representations.ts';

/** What a handler knows about the caller, by kind of access. */
export interface Callers {
  public: undefined;
  robot: RobotCaller;
  session: AccountCaller;
  robot_or_session: Viewer & { wallet: string };
}

/** A call that has passed authentication, limits and schema. */
export interface Call<Name extends RouteName> {
  caller: Callers[Routes[Name]['access']];
  params: Params<Name>;
  query: Query<Name>;
  body: Body<Name>;
  /** Why the body does not match the schema, on a route with `lateValidation`. */
  invalid: Error | undefined;
  request: FastifyRequest;
  reply: FastifyReply;
}

/**
 * Handlers return the body of the response; null: the handler has responded itself. The status is the first one of the
 * route, unless the handler sets another.
 */
export type Handlers = {
  [Name in RouteName]: (call: Call<Name>) => Promise<Content<Answer<Name>['body']> | Csv | null>;
};

/** A body, which may be serialized already. */
type Content<Body> = Body extends unknown ? Body | JsonText<Body> : never;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The entry in the routes table; undefined if no route matched. */
    route?: Route;
    /** Name of the entry. */
    name?: RouteName;
    /** A page outside the table, for people or for the operator's machines. */
    page?: 'html' | 'text';
  }
  interface FastifyRequest {
    /** Set by the hook of the route's scope. */
    caller: Callers[Route['access']] | null;
    /** Why the body is refused, where the route or a hook says so later. */
    invalidBody: SvcError<ErrorCode> | null;
  }
}
