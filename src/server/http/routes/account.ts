import { listLedger, readAccount } from '../../core/account.ts';
import type { Deps } from '../../core/deps.ts';
import { authorizeCli, endSession, listSessions, redeemCliCode } from '../../core/sessions.ts';
import { createGateReader } from '../../core/sign-in.ts';
import type { Handlers } from '../server/call.ts';
import type { Cookies } from '../server/credentials.ts';

type Name =
  | 'getAccount'
  | 'listLedger'
  | 'listSessions'
  | 'revokeSession'
  | 'authorizeCli'
  | 'redeemCliCode';

export function accountHandlers(deps: Deps, cookies: Cookies): Pick<Handlers, Name> {
  const readGate = createGateReader(deps);
  return {
    async getAccount({ caller }) {
      return { status: 200, body: await readAccount(deps, readGate, caller.wallet) };
    },
    async listLedger({ caller, query }) {
      return { status: 200, body: await listLedger(deps, caller.wallet, query) };
    },
    async listSessions({ caller, query }) {
      return { status: 200, body: await listSessions(deps, caller, query) };
    },
    async revokeSession({ caller, params, reply }) {
      await endSession(deps, caller.wallet, params.id);
      if (params.id === caller.id) cookies.clearSession(reply);
      return { status: 200, body: { deleted: true } };
    },
    async authorizeCli({ caller, body }) {
      return { status: 201, body: await authorizeCli(deps, caller, body.challenge) };
    },
    async redeemCliCode({ body }) {
      return { status: 200, body: await redeemCliCode(deps, body) };
    },
  };
}
