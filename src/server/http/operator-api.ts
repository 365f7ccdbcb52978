// The operator API: lists accounts, grants credits, suspends and resumes.

import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Static } from 'typebox';

import { readToken } from '../../base/private-file.ts';
import { keepServing, removeStaleSocket } from '../../base/sockets.ts';
import { SvcError } from '../../base/svc-error.ts';
import { packageVersion } from '../../base/version.ts';
import { ajvOptions } from '../../protocol/ajv-options.ts';
import { limits } from '../../protocol/limits.ts';
import { operatorApiDocument } from '../../protocol/openapi/document.ts';
import {
  type NewGrant,
  operatorRoutes,
  type Reason,
  type Wallet,
} from '../../protocol/operator-api.ts';
import type { Route } from '../../protocol/route.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { listAccounts, showAccount, suspendAccount, viewBalance } from '../core/account.ts';
import type { Deps } from '../core/deps.ts';
import type { Actor } from '../ports/account.ts';
import { wireError } from '../ports/errors.ts';
import { createBodyParser } from './server/bodies.ts';
import { bearerKey, sameSecret } from './server/credentials.ts';
import { answerError } from './server/errors.ts';
import type { RefusedCallers } from './server/refused-callers.ts';

interface OperatorApiDeps extends Pick<Deps, 'store' | 'chain' | 'clock'> {
  logger: FastifyBaseLogger;
  /** Of `readOperatorToken`. */
  token: string;
  refusals: RefusedCallers;
}

type AccountsQuery = Static<typeof operatorRoutes.listAccounts.query>;

interface OperatorCall {
  wallet: string;
  query: unknown;
  body: unknown;
}

/** Builds the operator API. Each call needs the token. */
export function buildOperatorApi(deps: OperatorApiDeps): FastifyInstance {
  const { store, chain, clock, logger, refusals } = deps;
  const by = (): Actor => ({
    actor: 'operator',
    actor_name: 'operator API',
    source: null,
    at: clock.now(),
  });
  const suspend = ({ wallet, body }: OperatorCall, isSuspended: boolean) => {
    const { reason = null } = body as Static<typeof Reason>;
    return suspendAccount(store, wallet, { isSuspended, reason, by: by() });
  };
  const handlers: Record<keyof typeof operatorRoutes, (call: OperatorCall) => unknown> = {
    listAccounts: ({ query }) => listAccounts(store, clock.now(), query as AccountsQuery),
    readAccount: ({ wallet }) => showAccount(store, wallet, clock.now()),
    async grantCredits({ wallet, body }) {
      const { id, anchors = 0, gas_wei: gasWei = '0', note } = body as Static<typeof NewGrant>;
      const grant = { id, wallet, anchors, gasWei: BigInt(gasWei), note, now: clock.now() };
      const { outcome, balance } = await store.grantCredits(grant, by());
      store.changed(wallet, { credit: id });
      return { outcome, balance: viewBalance(balance) };
    },
    suspendAccount: (call) => suspend(call, true),
    resumeAccount: (call) => suspend(call, false),
    listRefusals() {
      const { since, items } = refusals.list();
      return { since: formatTimestamp(since), items };
    },
  };
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.smallBodyBytes,
    ajv: { customOptions: ajvOptions },
  });
  keepServing(app.server, logger);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(() => {
    throw wireError('not_found', 'The operator API has no such endpoint.');
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', createBodyParser());
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store');
    if (sameSecret(bearerKey(request) ?? '', deps.token)) return done();
    throw wireError('missing_api_key', 'Send the operator token as "Authorization: Bearer …".');
  });
  // A reason is optional, so its body is too. A missing member of a grant is named.
  app.addHook('preValidation', (request, _, done) => {
    if (request.body === undefined) request.body = {};
    done();
  });
  const document = operatorApiDocument(packageVersion());
  app.get('/openapi.json', () => document);
  for (const [name, handler] of Object.entries(handlers)) {
    const route: Route = operatorRoutes[name as keyof typeof operatorRoutes];
    app.route({
      method: route.method,
      url: route.path,
      config: { route },
      schema: {
        ...(route.params && { params: route.params }),
        ...(route.query && { querystring: route.query }),
        ...(route.body && { body: route.body }),
      },
      handler(request) {
        const { wallet: given } = request.params as Partial<Static<typeof Wallet>>;
        const wallet = given === undefined ? '' : chain.checksumAddress(given);
        if (wallet !== null) return handler({ wallet, query: request.query, body: request.body });
        throw wireError('invalid_address', 'The address must have the EIP-55 checksum.');
      },
    });
  }
  return app;
}

/**
 * Listens on a port of the loopback interface, or on a unix socket that only this account can open. Replaces a socket
 * that a killed server left behind.
 * @throws SvcError `cannot_listen`
 */
export async function listenForOperator(app: FastifyInstance, address: string): Promise<void> {
  const [, host, port] = /^(.*):(\d+)$/.exec(address) ?? [];
  if (host === undefined) await removeStaleSocket(address);
  const umask = process.umask(0o177);
  try {
    await app.listen(
      host === undefined
        ? { path: address }
        : { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) },
    );
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `Cannot listen on SVC_OPERATOR_LISTEN ${address}: ${code}.`;
    throw new SvcError('cannot_listen', message, {
      hint: 'Choose another address, or stop the program that listens there.',
      cause,
    });
  } finally {
    process.umask(umask);
  }
}

/** @throws SvcError `key_unusable` */
export function readOperatorToken(file: string): Promise<string> {
  return readToken(file, 'SVC_OPERATOR_TOKEN_FILE');
}
