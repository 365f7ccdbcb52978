// Streams of changes as server-sent events: heartbeats, limits, and callers that do not read.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { SvcError } from '../../../base/svc-error.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Deps } from '../../core/deps.ts';
import type { Changes } from '../../ports/account.ts';

/** How long a browser waits before it connects again, in ms, up to twice as long: at a restart all of them do. */
const RETRY_MS = 2_000;
/** The same, for the oldest stream of an account with too many: it must not end another one at once. */
const RETRY_OF_OLDEST_MS = 60_000;

/**
 * Responds with a stream of an account's changes, which ends with the connection or when `check` rejects: the session
 * or token has ended.
 */
type OpenStream = (reply: FastifyReply, wallet: string, check: () => Promise<unknown>) => void;

/** Keeps the open streams of this process. They end when `stopping` aborts. */
export function createEventStreams(deps: Pick<Deps, 'store' | 'stopping'>): OpenStream {
  const { store, stopping } = deps;
  /** By account, oldest first. */
  const accounts = new Map<string, Set<Stream>>();
  stopping.addEventListener('abort', () => {
    for (const streams of [...accounts.values()]) for (const one of [...streams]) one.end();
  });

  return (reply, wallet, check) => {
    reply.type('text/event-stream');
    // nginx would collect messages otherwise.
    reply.header('x-accel-buffering', 'no');
    if (reply.request.method === 'HEAD') return void reply.send('');
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    const streams = accounts.get(wallet) ?? new Set();
    const [oldest] = streams;
    if (streams.size >= limits.streamsPerAccount) oldest?.end(`retry: ${RETRY_OF_OLDEST_MS}\n\n`);
    const stream = startStream(reply.raw, check);
    stream.ended.addEventListener('abort', () => {
      streams.delete(stream);
      if (streams.size === 0) accounts.delete(wallet);
    });
    accounts.set(wallet, streams.add(stream));
    store.watchChanges(wallet, stream.tell, stream.ended);
    if (stopping.aborted || reply.request.socket.destroyed) stream.end();
  };
}

type Stream = ReturnType<typeof startStream>;

/** Sends the first message, changes and heartbeats. It buffers nothing for a caller that does not read. */
function startStream(response: ServerResponse, check: () => Promise<unknown>) {
  const over = new AbortController();
  let isBehind = false;

  function write(text: string): void {
    if (!over.signal.aborted && !response.writableNeedDrain) response.write(text);
  }
  function tell(changes: Changes): void {
    isBehind = response.writableNeedDrain;
    write(`data: ${JSON.stringify({ changes })}\n\n`);
  }
  function close(): void {
    over.abort();
    clearInterval(timer);
    response.req.socket.off('close', close);
  }
  /** Ends the stream, after a last text if the caller reads. */
  function end(last = ''): void {
    close();
    if (response.writableNeedDrain) response.destroy();
    else response.end(last);
  }
  /** A heartbeat: nothing has changed since the last message. */
  async function beat(): Promise<void> {
    try {
      await check();
      tell([]);
    } catch (error) {
      if (!(error instanceof SvcError && error.retryable)) return end();
      // The database does not answer. The caller's own reads show it.
      tell(null);
    }
  }

  const timer = setInterval(beat, limits.streamCheckMs);
  response.once('close', close);
  response.on('error', close);
  // A response that is queued behind another gets no 'close' event of its own.
  response.req.socket.once('close', close);
  response.on('drain', () => {
    if (isBehind) tell(null);
  });
  write(`retry: ${Math.round(RETRY_MS * (1 + Math.random()))}\n\n`);
  tell(null);
  return { tell, end, ended: over.signal };
}
