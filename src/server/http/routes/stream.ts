// Handler of the stream of changes.
import type { Deps } from '../../core/deps.ts';
import { authenticateSession } from '../../core/sessions.ts';
import type { Handlers } from '../server/call.ts';
import { bearerKey, sessionToken } from '../server/credentials.ts';
import { createEventStreams } from '../server/event-streams.ts';

export function streamHandlers(deps: Deps) {
  const open = createEventStreams(deps);
  return {
    async openStream({ caller, request }) {
      const token = bearerKey(request) ?? sessionToken(request) ?? '';
      return open(caller.wallet, () => authenticateSession(deps, token, false));
    },
  } satisfies Partial<Handlers>;
}
