// Handlers for sign-in, sessions, account tokens, the account, its audit log, its changes and its export.

import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { beginDeletion, listAuditLog, listLedger, readAccount } from '../../core/account.ts';
import { exportAccount } from '../../core/account-export.ts';
import type { Deps } from '../../core/deps.ts';
import { readStatus } from '../../core/operations.ts';
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
import type { LongReads } from '../server/in-flight.ts';
import { applyCount } from '../server/rate-limit-headers.ts';
import { type HttpDeps, sourceOf } from '../server/strangers.ts';

export function accountHandlers(deps: HttpDeps, longReads: LongReads) {
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
    getServiceStatus: ({ caller }) => readStatus(deps, deps.readReadiness, caller.wallet),
    async exportAccount(call) {
      await signIn.requireFreshSignature(signedOf(call), 'export_account');
      const { caller, reply } = call;
      const lines = exportAccount(deps, caller, (read) => longReads(caller.wallet, read));
      reply.type('application/jsonl');
      reply.send(Readable.from(lines));
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
