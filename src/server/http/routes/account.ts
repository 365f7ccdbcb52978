// Handlers for sign-in, sessions and the account.
import type { FastifyRequest } from 'fastify';
import { listLedger, readAccount } from '../../core/account.ts';
import type { Deps } from '../../core/deps.ts';
import {
  decideCliSignIn,
  endSession,
  listSessions,
  redeemCliCode,
  signOut,
  startCliSignIn,
} from '../../core/sessions.ts';
import { createGateReader, createSignIn } from '../../core/sign-in.ts';
import type { Handlers } from '../server/call.ts';
import {
  challengeMessage,
  createCookies,
  deviceCookie,
  sessionToken,
} from '../server/credentials.ts';
import { applyCount } from '../server/rate-limits.ts';
import { sourceOf } from '../server/sources.ts';

export function accountHandlers(deps: Deps) {
  const cookies = createCookies(() => deps.settings.baseUrl.startsWith('https:'));
  const readGate = createGateReader(deps);
  const signIn = createSignIn(deps);
  const callerOf = (request: FastifyRequest) => ({
    source: sourceOf(request.ip),
    device: deviceCookie(request),
  });
  return {
    async createChallenge({ body, invalid, request, reply }) {
      const { address, chainId } = body;
      // A wrong chainId counts as well; without an address there is nothing to count.
      if (invalid && typeof address !== 'string') throw invalid;
      const { message } = await signIn.challenge(
        { ...callerOf(request), address, chainId },
        (count) => {
          applyCount(reply, count);
          if (invalid) throw invalid;
        },
      );
      cookies.setChallenge(reply, message);
      return { status: 200, body: { message } };
    },
    async verifySignature({ body, request, reply }) {
      const message = body.message ?? challengeMessage(request);
      const { token, wallet, holds, device } = await signIn.signIn({
        ...callerOf(request),
        ...body,
        message,
      });
      cookies.setSession(reply, token);
      cookies.setDevice(reply, device);
      cookies.clearChallenge(reply);
      return { status: 200, body: { signed_in: true, wallet, gate: { holds } } };
    },
    async signOut({ request, reply }) {
      await signOut(deps, sessionToken(request));
      cookies.clearSession(reply);
      return { status: 200, body: { signed_out: true } };
    },
    async startCliSignIn({ body, request }) {
      const { source } = callerOf(request);
      return { status: 201, body: await startCliSignIn(deps, { name: body.name, source }) };
    },
    async decideCliSignIn({ caller, body }) {
      return { status: 200, body: await decideCliSignIn(deps, caller, body) };
    },
    async redeemCliCode({ body }) {
      return { status: 200, body: await redeemCliCode(deps, body.device_code) };
    },
    async listSessions({ caller, query }) {
      return { status: 200, body: await listSessions(deps, caller, query) };
    },
    async revokeSession({ caller, params, reply }) {
      await endSession(deps, caller.wallet, params.id);
      if (params.id === caller.id) cookies.clearSession(reply);
      return { status: 200, body: { deleted: true } };
    },
    async getAccount({ caller }) {
      return { status: 200, body: await readAccount(deps, readGate, caller.wallet) };
    },
    async listLedger({ caller, query }) {
      return { status: 200, body: await listLedger(deps, caller.wallet, query) };
    },
  } satisfies Partial<Handlers>;
}
