// Route of the stream of changes.
import { limits } from '../limits.ts';
import { accountRead, type Route } from '../route.ts';
import { ChangeMessage } from '../stream.ts';

export const streamRoutes = {
  openStream: {
    ...accountRead,
    path: '/api/v1/stream',
    summary: 'Receive the changes of the account as server-sent events',
    description: `Each message is JSON with the kind and the id of each changed object, at most one in 250 ms. \`changes: null\` (in the first message, and when changes may be lost) means: read everything again. A message without changes follows every ${limits.streamCheckMs / 1000} seconds; a caller that hears nothing for longer should connect again. Above ${limits.streamsPerAccount} streams of an account per instance, the oldest ends.`,
    stream: 'text/event-stream',
    responses: { 200: ChangeMessage },
  },
} as const satisfies Record<string, Route>;
