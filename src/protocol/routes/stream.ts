// Route of the stream of changes.
import { limits } from '../limits.ts';
import { accountRead, type Route } from '../route.ts';
import { ChangeMessage } from '../stream.ts';

export const streamRoutes = {
  openStream: {
    ...accountRead,
    path: '/api/v1/stream',
    summary: 'Receive the changes of the account as server-sent events',
    description: `The data of each message is JSON, with the kind and the id of each changed object. If a message has \`changes: null\`, read everything again. The service sends \`changes: null\` in the first message of each connection, and when the service or the caller could not keep up. The service sends at most one message in 250 ms, with all changes since the last message, whichever instance made them. Every ${limits.streamCheckMs / 1000} seconds, the service sends a message with no changes (\`changes: []\`) and checks that the session or token is still valid. A caller that hears nothing for longer should connect again. An account has at most ${limits.streamsPerAccount} open streams per instance. Above this number, the service ends the oldest stream.`,
    stream: 'text/event-stream',
    responses: { 200: ChangeMessage },
  },
} as const satisfies Record<string, Route>;
