// Handler of the stream of changes.
import type { Deps } from '../../core/deps.ts';
import { authenticateSession } from '../../core/sessions.ts';
import type { Handlers } from '../server/call.ts';
import { bearerKey, sessionToken } from '../server/credentials.ts';
import { createEventStreams } from '../server/event-streams.ts';

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
