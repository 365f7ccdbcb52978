// Route of the stream of changes.
import { limits } from '../limits.ts';
import { accountRead, type Route } from '../route.ts';
import { ChangeMessage } from '../stream.ts';

export const streamRoutes = {
  openStream: {
    ...accountRead,
    path: '/api/v1/stream',
    summary: 'Learn what changes in the account, as server-sent events that name kinds and ids',
    description: `The data of each message is JSON. In the first one after each connect \`changes\` is null: read everything again. The same message replaces changes that the service or the caller was too slow for. Changes of a quarter of a second share a message, also those of all instances together. A comment follows every ${limits.streamCheckMs / 1000} seconds, when the service also checks that the session or token is still valid. An account has at most ${limits.streamsPerAccount} streams per instance; another one ends the oldest.`,
    eventStream: true,
    responses: { 200: ChangeMessage },
  },
} as const satisfies Record<string, Route>;
