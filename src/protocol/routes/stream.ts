// Route of the stream of changes.
import { limits } from '../limits.ts';
import { accountRead, type Route } from '../route.ts';
import { ChangeMessage } from '../stream.ts';

export const streamRoutes = {
  openStream: {
    ...accountRead,
    path: '/api/v1/stream',
    summary: 'Learn what changes in the account, as server-sent events',
    description: `The data of each message is JSON, with the kind and the id of each changed object. If a message has \`changes: null\`, read everything again. The service sends \`changes: null\` in the first message of each connection, and when the service or the caller could not keep up. One message contains all changes of 250 ms, from all instances. Every ${limits.streamCheckMs / 1000} seconds, the service sends an SSE comment and checks that the session or token is still valid. An account has at most ${limits.streamsPerAccount} streams per instance; another one ends the oldest.`,
    stream: 'text/event-stream',
    responses: { 200: ChangeMessage },
  },
} as const satisfies Record<string, Route>;
