// Handlers for sign-in, sessions, account tokens, the account, its audit log, its changes and its export.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SvcError } from '../../../base/svc-error.ts';
import { createClient } from '../../../client/client.ts';
import type { Answer } from '../../../protocol/routes.ts';
import {
  beginDeletion,
  listAuditLog,
  listLedger,
  readAccount,
  recordedExport,
} from '../../core/account.ts';
import type { Deps } from '../../core/deps.ts';
import type { Page } from '../../core/paging.ts';
import {
  authenticateSession,
  createToken,
  decideCliSignIn,
  endSession,
  listSessions,
  listTokens,
  redeemCliCode,
  signOut,
  startCliSignIn,
} from '../../core/sessions.ts';
import { createGateReader, createSignIn } from '../../core/sign-in.ts';
import { actorOf } from '../server/authentication.ts';
import type { Call, Handlers } from '../server/call.ts';
import { bearerKey, createCookies, sessionToken, signInCookies } from '../server/credentials.ts';
import { createEventStreams } from '../server/event-streams.ts';
import { applyCount } from '../server/rate-limits.ts';
import { sourceOf } from '../server/strangers.ts';

export function accountHandlers(deps: Deps) {
  const cookies = createCookies(() => deps.settings.baseUrl.startsWith('https:'));
  const readGate = createGateReader(deps);
  const signIn = createSignIn(deps);
  const callerOf = (request: FastifyRequest) => ({
    source: sourceOf(request.ip),
    device: signInCookies(request).device,
  });
  const signedOf = ({ caller, body, request }: Call<'exportAccount' | 'deleteAccount'>) => {
    const { wallet: address, by } = caller;
    return { ...callerOf(request), ...body, address, by };
  };
  return {
    async createChallenge({ body, invalid, request, reply }) {
      // A wrong chainId counts as well; without an address there is nothing to count.
      if (invalid && typeof body?.address !== 'string') throw invalid;
      const { message } = await signIn.challenge({ ...callerOf(request), ...body }, (count) => {
        applyCount(reply, count);
        if (invalid) throw invalid;
      });
      cookies.setChallenge(reply, message);
      return { message };
    },
    async verifySignature({ body, request, reply }) {
      const message = body.message ?? signInCookies(request).message;
      const { token, wallet, holds, device } = await signIn.signIn({
        ...callerOf(request),
        ...body,
        message,
        by: actorOf(deps, request),
      });
      cookies.setSession(reply, token);
      cookies.setDevice(reply, device);
      cookies.clearChallenge(reply);
      return { signed_in: true, wallet, gate: { holds } };
    },
    async signOut({ request, reply }) {
      await signOut(deps, sessionToken(request), actorOf(deps, request));
      cookies.clearSession(reply);
      return { signed_out: true };
    },
    startCliSignIn: ({ body: { name }, request }) =>
      startCliSignIn(deps, { name, source: callerOf(request).source }),
    decideCliSignIn: ({ caller, body }) => decideCliSignIn(deps, caller, body),
    redeemCliCode: ({ body, request }) =>
      redeemCliCode(deps, body.device_code, actorOf(deps, request)),
    listSessions: ({ caller, query }) => listSessions(deps, caller, query),
    async revokeSession({ caller, params, reply }) {
      const ended = await endSession(deps, caller, params.id, 'session');
      if (params.id === caller.id) cookies.clearSession(reply);
      return ended;
    },
    createToken: ({ caller, body }) => createToken(deps, caller, body),
    listTokens: ({ caller, query }) => listTokens(deps, caller.wallet, query),
    revokeToken: ({ caller, params }) => endSession(deps, caller, params.id, 'token'),
    listAuditLog: ({ caller, query }) => listAuditLog(deps, caller.wallet, query),
    getAccount: ({ caller }) => readAccount(deps, readGate, caller.wallet),
    async exportAccount(call) {
      await signIn.requireFreshSignature(signedOf(call), 'export_account');
      const { caller, request, reply } = call;
      const records = exportAccount(request.server, sessionToken(request) ?? '', request.ip);
      reply.type('application/jsonl');
      reply.send(Readable.from(recordedExport(deps, caller, records)));
      return null;
    },
    async deleteAccount(call) {
      await signIn.requireFreshSignature(signedOf(call), 'delete_account');
      await beginDeletion(deps, call.caller);
      cookies.clearSession(call.reply);
      return { deleting: true };
    },
    listLedger: ({ caller, query }) => listLedger(deps, caller.wallet, query),
  } satisfies Partial<Handlers>;
}

export function streamHandlers(deps: Deps) {
  const open = createEventStreams(deps);
  return {
    async openStream({ caller, request, reply }) {
      const token = bearerKey(request) ?? sessionToken(request) ?? '';
      open(reply, caller.wallet, () => authenticateSession(deps, token, false));
      return null;
    },
  } satisfies Partial<Handlers>;
}

const lists = {
  fleet: 'listFleets',
  event: 'listEvents',
  ledger_entry: 'listLedger',
  audit_entry: 'listAuditLog',
  alert: 'listAlerts',
  webhook: 'listWebhooks',
} as const;

/**
 * Yields the account of the session, its robots with their samples, its tasks with bundle or evidence, and the records
 * of its lists. `address` is that of the caller. Rejects as `Client.call`.
 */
export async function* exportAccount(
  app: FastifyInstance,
  session: string,
  address = '127.0.0.1',
): AsyncGenerator<Answer<'exportAccount'>['body']> {
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url));
    const headers = init?.headers as Record<string, string>; // As the client writes them.
    const inner = { url: pathname + search, headers, remoteAddress: address };
    const { statusCode: status, payload } = await app.inject(inner);
    return new Response(payload, { status });
  };
  const service = { baseUrl: 'http://localhost', fetch, credential: { session } };
  const { call: read } = createClient(service);
  yield { kind: 'account', record: (await read('getAccount')).body };
  for await (const robot of readAll((query) => read('listRobots', { query }))) {
    yield { kind: 'robot', record: robot };
    const params = { id: robot.id };
    const samples = (query: PageQuery) =>
      read('readTelemetry', { params, query }) as Promise<{ body: Page<object> }>; // No `resolution`.
    for await (const sample of readAll(samples)) {
      yield { kind: 'sample', record: { robot_id: robot.id, ...sample } };
    }
  }
  for await (const { id } of readAll((query) => read('listTasks', { query }))) {
    const params = { id };
    yield { kind: 'task', record: (await read('getTask', { params })).body };
    const bundle = await orNull(read('getBundle', { params }));
    if (bundle !== null) yield { kind: 'bundle', record: bundle.body };
    const proof = bundle === null ? await orNull(read('getProof', { params })) : null;
    if (proof !== null) yield { kind: 'proof', record: { task_id: id, ...proof.body } };
  }
  for (const [kind, name] of Object.entries(lists)) {
    const list = (query: PageQuery) => read(name, { query }) as Promise<{ body: Page<object> }>;
    for await (const record of readAll(list)) yield { kind, record };
  }
  for (const rule of (await read('listAlertRules')).body.rules) {
    yield { kind: 'alert_rule', record: rule };
  }
}

type PageQuery = { limit: string; cursor?: string };

async function* readAll<Item>(read: (query: PageQuery) => Promise<{ body: Page<Item> }>) {
  let cursor: string | null = null;
  do {
    const query = { limit: '200', ...(cursor === null ? {} : { cursor }) };
    const { body }: { body: Page<Item> } = await read(query);
    yield* body.items;
    cursor = body.next_cursor;
  } while (cursor !== null);
}

/** Null where the task has no bundle or evidence, or was deleted meanwhile. */
async function orNull<Found>(found: Promise<Found>): Promise<Found | null> {
  try {
    return await found;
  } catch (error) {
    const missing = ['not_found', 'completion_in_progress'];
    if (error instanceof SvcError && missing.includes(error.code)) return null;
    throw error;
  }
}
