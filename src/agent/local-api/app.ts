// The local API: the HTTP server that programs on the robot call.
import { hash, timingSafeEqual } from 'node:crypto';
import Fastify, { type FastifyInstance, LogController } from 'fastify';
import type { TObject } from 'typebox';
import { isLoopback } from '../../base/addresses.ts';
import { onAbort } from '../../base/async/on-abort.ts';
import { keepServing } from '../../base/sockets.ts';
import { ajvOptions } from '../../protocol/ajv-options.ts';
import { dropAbsent } from '../../protocol/fields.ts';
import { limits } from '../../protocol/limits.ts';
import type { Route } from '../../protocol/route.ts';
import { allowedMethods, type Body, type Params, routes, routesAt } from '../../protocol/routes.ts';
import { schemaError } from '../../protocol/schema-error.ts';
import { NewSample, NewSamples } from '../../protocol/telemetry.ts';
import { agentError } from '../errors.ts';
import { type LocalDeps, readBody } from './call.ts';
import { answerClientError, answerError } from './errors.ts';
import { addSpoolRoutes } from './spool.ts';
import { claimTask, completeTask, readTask } from './tasks.ts';
import { createEvent, recordSamples, type UncheckedSamples } from './telemetry.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Row of the routes table; absent if no route matches. */
    route?: Route;
  }
}

/** Longest `Prefer: wait`, in seconds. */
const LONGEST_WAIT = 600;

/**
 * `token`: what callers must send on TCP, which every user and browser of the machine reaches; null on the unix socket,
 * whose permissions decide.
 */
export function buildLocalApi(
  deps: LocalDeps,
  { token }: { token: string | null },
): FastifyInstance {
  const app = Fastify({
    loggerInstance: deps.logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 30_000,
    // Lets the schema refuse a long id as malformed.
    routerOptions: { maxParamLength: 100_000 },
    clientErrorHandler: answerClientError,
    ajv: { customOptions: ajvOptions },
    frameworkErrors: answerError,
  });
  keepServing(app.server, deps.logger);
  // Node would answer an unknown expectation itself, without a body.
  app.server.on('checkExpectation', (...request) => app.server.emit('request', ...request));
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(({ method, url }, reply) => {
    const found = routesAt(url, servedRoutes);
    if (found.length === 0) throw agentError('not_found', 'There is no such endpoint.');
    reply.header('allow', allowedMethods(found));
    if (method === 'OPTIONS') return reply.status(204).send();
    throw agentError('method_not_allowed', `This endpoint allows ${allowedMethods(found)}.`);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, readBody);
  app.addHook('onRequest', async ({ headers, hostname }) => {
    // Pages in a browser on this machine must not act as the robot.
    if (headers.origin !== undefined || (token !== null && !isLoopback(hostname))) {
      throw agentError('forbidden_origin', 'Only programs on this machine may call this API.');
    }
    if (token === null || sameText(headers.authorization ?? '', `Bearer ${token}`)) return;
    const message = 'Send the token of SVC_AGENT_TOKEN_FILE as Authorization: Bearer TOKEN.';
    throw agentError('invalid_token', message);
  });
  app.addHook('preValidation', async (request) => {
    const { route } = request.routeOptions.config;
    if (route?.method === 'POST' && route.body) dropAbsent(route.body, request.body);
    if (route?.body && request.body === undefined) {
      throw agentError('invalid_json', 'The body is empty; a JSON object is needed.');
    }
  });
  addRoutes(app, deps);
  if (token === null) addSpoolRoutes(app, deps);
  return app;
}

function addRoutes(app: FastifyInstance, deps: LocalDeps): void {
  app.post('/api/v1/tasks', of('createTask'), async (request, reply) => {
    reply.status(201);
    return claimTask(deps, request.body as Body<'createTask'>);
  });
  app.post('/api/v1/tasks/:id/complete', of('completeTask'), async (request, reply) => {
    const { id } = request.params as Params<'completeTask'>;
    const seconds = waitOf(request.headers.prefer);
    if (seconds > 0) reply.header('preference-applied', `wait=${seconds}`);
    const enough = new AbortController();
    const end = () => enough.abort();
    const timer = setTimeout(end, seconds * 1000);
    request.raw.socket.once('close', end);
    const forget = onAbort(deps.stopping, end);
    if (seconds === 0) end();
    try {
      const options = { enough: enough.signal, anyway: isLenient(request.headers.prefer) };
      const { status, body } = await completeTask(
        deps,
        id,
        request.body as Body<'completeTask'>,
        options,
      );
      return await reply.status(status).send(body);
    } finally {
      clearTimeout(timer);
      request.raw.socket.off('close', end);
      forget();
    }
  });
  app.get('/api/v1/tasks/:id', of('getTask'), async (request) =>
    readTask(deps, (request.params as Params<'getTask'>).id),
  );
  app.post('/api/v1/telemetry', uncheckedSamples, async (request, reply) => {
    reply.status(201);
    const isValid = request.compileValidationSchema(NewSample as unknown as object); // typebox and Fastify type schemas differently.
    return recordSamples(deps, request.body as UncheckedSamples, (sample, index) => {
      if (isValid(sample as object)) return null;
      const validation = (isValid.errors ?? []).map((error) => ({
        ...error,
        instancePath: `/samples/${index}${error.instancePath}`,
      }));
      return schemaError({ validation, validationContext: 'body' }, routes.recordSamples);
    });
  });
  app.post('/api/v1/events', of('createEvent'), async (request, reply) => {
    reply.status(201);
    return createEvent(deps, request.body as Body<'createEvent'>);
  });
  app.get('/api/v1/receipts', async () => ({
    items: deps.spool.read(({ settled }) => settled.receipts()),
  }));
  app.get('/api/v1/status', async () => deps.status());
}

const served = ['createTask', 'completeTask', 'getTask', 'recordSamples', 'createEvent'] as const;
const servedRoutes = served.map((name): Route => routes[name]);

/** Fastify's options for a row of the routes table. The type casts above rely on its schemas. */
function of(name: (typeof served)[number]) {
  const route: Route = routes[name];
  return {
    config: { route },
    schema: {
      querystring: route.query ?? { type: 'object', additionalProperties: false },
      ...(route.params && { params: route.params }),
      ...(route.body && { body: withoutSigned(route.body) }),
    },
  };
}

/** The agent makes the statements and keeps the promises, so programs cannot send any. */
function withoutSigned(body: TObject) {
  const { statement: _, promised: __, ...properties } = body.properties;
  return { ...body, properties };
}

const telemetry = of('recordSamples');

/** As `telemetry`, but the handler checks each member of `samples`, so that a malformed one does not stop the others. */
const uncheckedSamples = {
  ...telemetry,
  schema: {
    ...telemetry.schema,
    body: {
      ...NewSamples,
      properties: {
        ...NewSamples.properties,
        samples: { ...NewSamples.properties.samples, items: {} },
      },
    },
  },
};

/** Compares in constant time. */
function sameText(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}

type Prefer = string | string[] | undefined;

/** Whether the caller wants evidence of an unknown task stored: `Prefer: handling=lenient`. */
function isLenient(header: Prefer): boolean {
  return preferenceOf(header, 'handling')?.toLowerCase() === 'lenient';
}

/** Seconds of `Prefer: wait=…`; 0 without it. */
function waitOf(header: Prefer): number {
  const seconds = preferenceOf(header, 'wait') ?? '';
  return /^\d+$/.test(seconds) ? Math.min(Number(seconds), LONGEST_WAIT) : 0;
}

/** The value of a preference (RFC 7240). */
function preferenceOf(header: Prefer, name: string): string | undefined {
  const value = new RegExp(`(?:^|[,;\\s])${name}="?(\\w+)"?(?:$|[,;\\s])`, 'i');
  return value.exec(String(header ?? ''))?.[1];
}
