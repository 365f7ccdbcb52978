// Handlers for sign-in, sessions and the account.
import { listLedger, readAccount } from '../../core/account.ts';
import type { Deps } from '../../core/deps.ts';
import {
  authorizeCli,
  endSession,
  listSessions,
  redeemCliCode,
  signOut,
} from '../../core/sessions.ts';
import { countChallenge, createChallenge, createGateReader, signIn } from '../../core/sign-in.ts';
import type { Handlers } from '../server/call.ts';
import { challengeNonce, createCookies, sessionToken } from '../server/credentials.ts';
import { applyCount } from '../server/rate-limits.ts';

export function accountHandlers(deps: Deps) {
  const cookies = createCookies(() => deps.settings.baseUrl.startsWith('https:'));
  const readGate = createGateReader(deps);
  return {
    async createChallenge({ body, reply }) {
      const { wallet, count } = await countChallenge(deps, body.address);
      applyCount(reply, count);
      const { nonce, message } = await createChallenge(deps, wallet, body.chainId);
      cookies.setChallenge(reply, nonce);
      return { status: 200, body: { message } };
    },
    async verifySignature({ body, request, reply }) {
      const nonce = challengeNonce(request);
      const { token, wallet, holds } = await signIn(deps, { ...body, nonce });
      cookies.setSession(reply, token);
      cookies.clearChallenge(reply);
      return { status: 200, body: { signed_in: true, wallet, gate: { holds } } };
    },
    async signOut({ request, reply }) {
      await signOut(deps, sessionToken(request));
      cookies.clearSession(reply);
      return { status: 200, body: { signed_out: true } };
    },
    async authorizeCli({ caller, body }) {
      return { status: 201, body: await authorizeCli(deps, caller, body.challenge) };
    },
    async redeemCliCode({ body }) {
      return { status: 200, body: await redeemCliCode(deps, body) };
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
