// Handler for the list of anchoring accounts.
import { createListReader } from '../../core/anchoring-accounts.ts';
import type { Deps } from '../../core/deps.ts';
import type { Handlers } from '../server/call.ts';

export function anchoringAccountHandlers(deps: Deps) {
  const readList = createListReader(deps);
  return {
    async getAnchoringAccounts({ reply }) {
      const body = await readList();
      reply.header('cache-control', 'public, max-age=60');
      return { status: 200, body };
    },
  } satisfies Partial<Handlers>;
}
