// Handler for the list of anchoring accounts.
import { getAnchorsList } from '../../core/anchoring-accounts.ts';
import type { Deps } from '../../core/deps.ts';
import type { Handlers } from '../server/call.ts';

export function anchoringAccountHandlers(deps: Deps) {
  return {
    async getAnchoringAccounts({ reply }) {
      const body = await getAnchorsList(deps);
      reply.header('cache-control', 'public, max-age=60');
      return { status: 200, body };
    },
  } satisfies Partial<Handlers>;
}
