// A call as a handler gets it: caller, parameters, body.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../../../protocol/route.ts';
import type { Answer, Body, Params, Query, RouteName, Routes } from '../../../protocol/routes.ts';
import type { JsonText } from '../../ports/json-text.ts';
import type { RobotCaller } from '../../ports/robots.ts';
import type { SessionRecord } from '../../ports/sign-in.ts';
import type { Viewer } from '../../ports/tasks.ts';

/** What each kind of access lets a handler know about who calls. */
export interface Callers {
  public: undefined;
  robot: RobotCaller;
  session: SessionRecord;
  robot_or_session: Viewer;
}

export type Access = Route['access'];

/** A call that has passed authentication, limits and schema. */
export interface Call<Name extends RouteName> {
  caller: Callers[Routes[Name]['access']];
  params: Params<Name>;
  query: Query<Name>;
  body: Body<Name>;
  request: FastifyRequest;
  reply: FastifyReply;
}

export type Handlers = {
  [Name in RouteName]: (call: Call<Name>) => Promise<Answer<Name> | Written<Answer<Name>>>;
};

/** The same answer with its body written already. */
type Written<Given> = Given extends { status: infer Status; body: infer Value }
  ? { status: Status; body: JsonText<Value> }
  : never;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The row of the routes table; absent where no route was found. */
    route?: Route;
    /** Name of the row. */
    name?: RouteName;
    /** Not of the table, and not of the interface: a page for people or machines of the operator. */
    page?: 'html' | 'text';
  }
  interface FastifyRequest {
    /** Set by the hook of the scope that the route is in. */
    caller: Callers[Access] | null;
  }
}
