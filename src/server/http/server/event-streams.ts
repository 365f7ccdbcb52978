// Streams of changes as server-sent events: heartbeats, limits, and callers that do not read.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../../base/svc-error.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Deps } from '../../core/deps.ts';
import type { Changes } from '../../ports/stream.ts';

/** How long a browser waits before it connects again, in ms: all of them lose their streams at a restart. */
const RETRY_MS = { from: 1_000, to: 5_000 };
/** The same, for the oldest stream of an account with too many: it must not end another one at once. */
const RETRY_OF_OLDEST_MS = 60_000;

/** The answer of a handler whose response does not end. */
export class EventStream {
  readonly #start: (response: ServerResponse) => void;

  constructor(start: (response: ServerResponse) => void) {
    this.#start = start;
  }

  send({ method }: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.type('text/event-stream');
    // nginx would collect messages otherwise.
    reply.header('x-accel-buffering', 'no');
    if (method === 'HEAD') return reply.send('');
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    this.#start(reply.raw);
    return reply;
  }
}

/** Opens a stream of an account's changes. `check` rejects once the credential of its caller has ended. */
type OpenStream = (wallet: string, check: () => Promise<unknown>) => EventStream;

/** Keeps the open streams of this process. They end when `stopping` aborts. */
export function createEventStreams({
  store,
  stopping,
}: Pick<Deps, 'store' | 'stopping'>): OpenStream {
  /** By account, oldest first. */
  const accounts = new Map<string, Set<Stream>>();
  stopping.addEventListener('abort', () => {
    for (const streams of [...accounts.values()]) for (const one of [...streams]) one.end();
  });

  return (wallet, check) =>
    new EventStream((response) => {
      const streams = accounts.get(wallet) ?? new Set<Stream>();
      const [oldest] = streams;
      if (streams.size >= limits.streamsPerAccount) oldest?.end(`retry: ${RETRY_OF_OLDEST_MS}\n\n`);
      const stream = new Stream(response, check);
      if (stream.ended.aborted) return;
      accounts.set(wallet, streams.add(stream));
      stream.ended.addEventListener('abort', () => {
        streams.delete(stream);
        if (streams.size === 0 && accounts.get(wallet) === streams) accounts.delete(wallet);
      });
      // Watch before the first message, so that no change is missed.
      store.watchChanges(wallet, (changes) => stream.tell(changes), stream.ended);
      stream.begin();
      if (stopping.aborted) stream.end();
    });
}

/** One open response. It buffers nothing for a caller that does not read. */
class Stream {
  readonly #response: ServerResponse;
  readonly #check: () => Promise<unknown>;
  readonly #timer: NodeJS.Timeout;
  readonly #over = new AbortController();
  #missed = false;

  constructor(response: ServerResponse, check: () => Promise<unknown>) {
    this.#response = response;
    this.#check = check;
    this.#timer = setInterval(() => void this.#beat(), limits.streamCheckMs);
    response.on('drain', () => {
      if (!this.#missed) return;
      this.#missed = false;
      this.tell(null);
    });
    // A response that is queued behind another gets no 'close' event of its own.
    const close = () => this.#close();
    const { socket } = response.req;
    response.once('close', close);
    socket.once('close', close);
    this.ended.addEventListener('abort', () => socket.off('close', close));
    if (socket.destroyed) close();
  }

  get ended(): AbortSignal {
    return this.#over.signal;
  }

  begin(): void {
    const { from, to } = RETRY_MS;
    this.#write(`retry: ${Math.round(from + Math.random() * (to - from))}\n\n`);
    this.tell(null);
  }

  tell(changes: Changes): void {
    if (!this.#write(`data: ${JSON.stringify({ changes })}\n\n`)) this.#missed = true;
  }

  /** Ends the stream, after a last message if the caller reads. */
  end(last = ''): void {
    const { writableNeedDrain } = this.#response;
    this.#close();
    if (writableNeedDrain) this.#response.destroy();
    else this.#response.end(last);
  }

  /** False if the caller has not read what was written before. */
  #write(text: string): boolean {
    if (this.ended.aborted) return true;
    if (this.#response.writableNeedDrain) return false;
    this.#response.write(text);
    return true;
  }

  async #beat(): Promise<void> {
    try {
      await this.#check();
    } catch (error) {
      // A database that does not answer ends no stream.
      if (!(error instanceof SvcError && error.retryable)) return this.end();
    }
    this.#write(': heartbeat\n\n');
  }

  #close(): void {
    clearInterval(this.#timer);
    this.#over.abort();
  }
}
