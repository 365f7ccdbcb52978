// Builds the HTTP application: hooks, routes and their handlers.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import cookie from '@fastify/cookie';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { keepServing } from '../../base/sockets.ts';
import { ajvOptions } from '../../protocol/ajv-options.ts';
import type { ErrorCode } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Route } from '../../protocol/route.ts';
import { type RouteName, routes } from '../../protocol/routes.ts';
import type { Deps } from '../core/deps.ts';
import { createReadiness } from '../core/operations.ts';
import { JsonText } from '../core/paging.ts';
import type { Answered } from '../metrics/metrics.ts';
import { wireError } from '../ports/errors.ts';
import { accountHandlers, streamHandlers } from './routes/account.ts';
import { identityHandlers } from './routes/identity.ts';
import { dashboardPages, type Metrics, metricsPage, sendDocument } from './routes/pages.ts';
import { publicHandlers } from './routes/public.ts';
import { fleetHandlers, robotHandlers } from './routes/robots.ts';
import { taskHandlers } from './routes/tasks.ts';
import { telemetryHandlers } from './routes/telemetry.ts';
import { webhookHandlers } from './routes/webhooks.ts';
import { accountOf, createAuthenticators, walletOf } from './server/authentication.ts';
import {
  createBodyParser,
  readNoBody,
  requireBody,
  requireIdentity,
  requireRoom,
} from './server/bodies.ts';
import type { Call, Handlers } from './server/call.ts';
import { putOpenHeaders, requireOwnOrigin } from './server/cross-origin.ts';
import { answerError } from './server/errors.ts';
import { createLongReads, InFlightRequests } from './server/in-flight.ts';
import {
  type ArrivalTimeouts,
  arrivalTimeouts,
  createConnectionErrorHandler,
  createHttpServer,
  drainOnClose,
} from './server/listener.ts';
import { putCommonHeaders } from './server/rate-limit-headers.ts';
import { isRefusal, type RefusedCallers } from './server/refused-callers.ts';
import { addRepresentations, Csv, jsonPieces } from './server/representations.ts';
import { addSecurityHeaders } from './server/security-headers.ts';
import { Connections, type HttpDeps, StrangersWork } from './server/strangers.ts';
import { answerUnmatched, answerUnroutable, countRobot, opensPage } from './server/unmatched.ts';

interface AppDeps extends Deps {
  logger: FastifyBaseLogger;
  /** Defaults to `arrivalTimeouts`. */
  timeouts?: ArrivalTimeouts;
  /** Trusted proxies (`X-Forwarded-For`), as addresses and CIDR ranges. */
  trustedProxies?: readonly string[];
  /** If undefined, there is no `/metrics`. */
  metrics?: Metrics;
  /** Counts refused calls by caller. */
  refusals?: RefusedCallers;
  /** Called for each refused call. */
  onRefused?: (code: ErrorCode) => void;
  /** Called after each response. `seconds` is the time from the request's head to the end of the response. */
  onAnswered?: (answered: Answered) => void;
}

/**
 * Builds the HTTP application. Every route is registered in the scope of its access kind, whose hook authenticates. The
 * application does not listen yet. `close()` waits for the requests in progress.
 */
export function buildApp(given: AppDeps): FastifyInstance {
  const readReadiness = createReadiness(given);
  const deps = { ...given, strangersWork: new StrangersWork(), readReadiness };
  const answers = new InFlightRequests();
  const connections = new Connections(deps.trustedProxies ?? [], (socket) =>
    answers.isBusy(socket),
  );
  const app = createFastify(deps, { answers, connections });
  drainOnClose(app, answers);
  app.decorateRequest('caller', null);
  app.decorateRequest('invalidBody', null);
  addRepresentations(app);
  addSecurityHeaders(app, deps.settings.baseUrl.startsWith('https:'));
  const warnOfForwarding = createForwardingWarning(deps.logger, connections);
  // Hooks that wait for nothing are not async: on a busy server each would create a promise per request.
  app.addHook('onRequest', (request, reply, done) => {
    warnOfForwarding(request);
    // Robots set their time by the header. A server without a clock sends none (RFC 9110, 6.6.1).
    reply.raw.sendDate = deps.clock.isImplausible !== true;
    const { route, page } = request.routeOptions.config;
    putCommonHeaders(request, reply);
    if (route?.cors) putOpenHeaders(reply);
    try {
      requireOwnOrigin(request, deps.settings);
    } catch (refusal) {
      countRobot(deps, request, reply).then(() => done(refusal as Error), done);
      return;
    }
    if (route || page) done();
    else if (opensPage(request)) sendDocument(reply.status(404)).catch(done);
    else answerUnmatched(deps, request, reply).catch(done);
  });
  // For missing files of a file route. An unknown route is rejected by the hook above first.
  app.setNotFoundHandler(() => {
    throw wireError('not_found', 'This file does not exist.');
  });
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    requireIdentity(request);
    const room = requireRoom(deps, request);
    if (room === null) done();
    else room.then(() => done(), done);
  });
  app.addHook('preValidation', (request, reply, done) => {
    requireBody(request, reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { route, name } = request.routeOptions.config;
    deps.onAnswered?.({
      route: name ?? null,
      method: request.method,
      status: reply.statusCode,
      // The duration of a stream says nothing about the service.
      seconds: (route?.stream ? 0 : reply.elapsedTime) / 1000,
    });
    const path = request.routeOptions.url ?? null;
    done();
    if (path !== null && probes.has(path)) return;
    request.log.info(
      {
        method: request.method,
        path,
        status: reply.statusCode,
        address: request.ip,
        ms: Math.round(reply.elapsedTime),
      },
      'answered',
    );
  });
  app.register((scope) => dashboardPages(scope, deps));
  const { metrics } = deps;
  if (metrics) app.register((scope) => metricsPage(scope, metrics, readReadiness));
  const handlers = createHandlers(deps);
  const authenticators = createAuthenticators(deps);
  for (const [access, authenticate] of Object.entries(authenticators)) {
    app.register(async (scope) => {
      // A robot has none to look for.
      if (access !== 'robot') await scope.register(cookie);
      scope.addHook('onRequest', async (request, reply) => {
        request.caller = await authenticate(request, reply);
        const wallet = walletOf(request);
        if (wallet !== undefined) connections.belongsTo(wallet, request.raw.socket);
      });
      for (const name of namesOf(access as Route['access']))
        registerRoute(scope, name, handlers, deps);
    });
  }
  return app;
}

/** What is known of connections before a request is handled. */
interface Arrivals {
  answers: InFlightRequests;
  connections: Connections;
}

function createFastify(
  deps: AppDeps & HttpDeps,
  { answers, connections }: Arrivals,
): FastifyInstance {
  const { logger, timeouts = arrivalTimeouts, trustedProxies = [] } = deps;
  const app = Fastify({
    serverFactory: (listener) =>
      keepServing(createHttpServer(listener, answers, timeouts, connections), logger),
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: requestId,
    bodyLimit: limits.smallBodyBytes,
    return503OnClosing: false,
    // The header limit bounds the path; a hash that is too long gets its own error.
    routerOptions: { maxParamLength: 100_000 },
    ajv: { customOptions: ajvOptions },
    frameworkErrors: (error, request, reply) => void answerUnroutable(deps, error, request, reply),
    clientErrorHandler: createConnectionErrorHandler(answers),
  });
  app.setErrorHandler((error, request, reply) => {
    if (isRefusal(error)) {
      deps.refusals?.add(accountOf(request));
      deps.onRefused?.(error.code);
    }
    answerError(error, request, reply);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', createBodyParser());
  app.addContentTypeParser('*', readNoBody);
  return app;
}

/** Paths that monitoring requests every few seconds, which are not logged. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** The request id given by the caller, if it is safe to log, otherwise a new one. */
function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
}

/** Warns once of `X-Forwarded-For` from a peer that is no trusted proxy: its callers would count as one source. */
function createForwardingWarning(logger: FastifyBaseLogger, connections: Connections) {
  let isWarned = false;
  return ({ headers, raw: { socket } }: FastifyRequest): void => {
    if (isWarned || headers['x-forwarded-for'] === undefined) return;
    const peer = socket.remoteAddress ?? '';
    if (connections.isProxy(peer)) return;
    isWarned = true;
    logger.warn({ peer }, 'ignored X-Forwarded-For: the peer is not in SVC_TRUST_PROXY');
  };
}

function namesOf(access: Route['access']): RouteName[] {
  const names = Object.keys(routes) as RouteName[]; // Object.keys loses the literal types.
  return names.filter((name) => routes[name].access === access);
}

function registerRoute<Name extends RouteName>(
  scope: FastifyInstance,
  name: Name,
  handlers: Handlers,
  { strangersWork }: HttpDeps,
): void {
  const route: Route = routes[name];
  const [status = '200'] = Object.keys(route.responses);
  // A function of its own: the async handler below would keep the call, and with it the body, until the response.
  const handle = (request: FastifyRequest, reply: FastifyReply) => {
    const call = takeCall<Name>(request, reply);
    const answer = () => handlers[name](call);
    return route.takesTurn ? strangersWork.run(request, answer) : answer();
  };
  scope.route({
    method: route.method,
    url: route.path,
    config: { route, name },
    attachValidation: route.lateValidation === true,
    ...(route.maxBody !== undefined && { bodyLimit: route.maxBody }),
    schema: {
      querystring: querySchema(route),
      ...(route.params && { params: route.params }),
      ...(route.body && { body: route.body }),
    },
    handler: async (request, reply) => {
      reply.status(Number(status));
      const body = await handle(request, reply);
      if (body === null) return reply;
      if (body instanceof Csv) return body.send(request, reply);
      const written = body instanceof JsonText ? body.text : null;
      if (written === null && !route.longAnswer) return reply.send(body);
      reply.type('application/json; charset=utf-8');
      return reply.send(written ?? Readable.from(jsonPieces(body as object)));
    },
  });
}

/** Unknown parameters are refused; but links to public routes get some on the way, such as those of campaigns. */
function querySchema({ query, access }: Route): object {
  return { type: 'object', ...query, additionalProperties: access === 'public' };
}

/** Moves the body from the request to the handler, so that it can be freed long before the handler responds. */
function takeCall<Name extends RouteName>(
  request: FastifyRequest,
  reply: FastifyReply,
): Call<Name> {
  const { caller, params, query, body, invalidBody, validationError } = request;
  if (validationError && validationError.validationContext !== 'body') throw validationError;
  const invalid = invalidBody ?? validationError;
  request.body = undefined;
  // The route's schemas and its scope's hook guarantee these types.
  return { caller, params, query, body, invalid, request, reply } as Call<Name>;
}

/** One handler for each route of the table; each calls a use case. */
function createHandlers(deps: HttpDeps): Handlers {
  const longReads = createLongReads();
  return {
    ...accountHandlers(deps, longReads),
    ...robotHandlers(deps, longReads),
    ...fleetHandlers(deps),
    ...identityHandlers(deps, longReads),
    ...taskHandlers(deps, longReads),
    ...telemetryHandlers(deps, longReads),
    ...streamHandlers(deps),
    ...publicHandlers(deps),
    ...webhookHandlers(deps),
  };
}
