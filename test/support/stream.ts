import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { Change } from '../../src/protocol/stream.ts';
import type { ChangeStore } from '../../src/server/ports/account.ts';
import { waitFor } from './wait-for.ts';

export interface OpenedStream {
  response: IncomingMessage;
  /** The data of the next message; null once the stream has ended. */
  next(): Promise<{ changes: Change[] | null } | null>;
  /** What arrived so far, comments included. */
  text(): string;
  /** Resolves when the service ends it. */
  ended(): Promise<void>;
}

/** Opens a stream on a connection of its own; it ends with the test. */
export async function openStream(
  baseUrl: string,
  credential: { session: string } | { apiKey: string },
): Promise<OpenedStream> {
  const headers: Record<string, string> =
    'session' in credential
      ? { cookie: `svc_session=${credential.session}` }
      : { authorization: `Bearer ${credential.apiKey}` };
  const sent = request(`${baseUrl}/api/v1/stream`, {
    agent: false,
    headers: { ...headers, 'accept-encoding': 'gzip' },
  });
  sent.on('error', () => {});
  sent.end();
  onTestFinished(() => void sent.destroy());
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  let text = '';
  let taken = 0;
  let wake = () => {};
  let isOver = false;
  response.on('data', (chunk) => {
    text += chunk;
    wake();
  });
  const over = new Promise<void>((resolve) => {
    const end = () => {
      isOver = true;
      wake();
      resolve();
    };
    response.once('close', end);
  });
  const messages = () => [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data = '']) => data);
  return {
    response,
    text: () => text,
    ended: () => over,
    async next() {
      for (;;) {
        const data = messages()[taken];
        if (data !== undefined) {
          taken += 1;
          return JSON.parse(data);
        }
        if (isOver) return null;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/**
 * Watches an account in a store. `until` resolves with all changes since, as `kind id`, once these are among them. A
 * reset stands for all of them: a busy database may lose one.
 */
export function watched(store: ChangeStore, wallet: string) {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const seen = new Set<string>();
  let resets = 0;
  store.watchChanges(
    wallet,
    (changes) => {
      if (changes === null) resets += 1;
      for (const { kind, id } of changes ?? []) seen.add(`${kind} ${id}`);
    },
    over.signal,
  );
  return {
    /** How often anything may have changed. */
    resets: () => resets,
    async until(...wanted: string[]): Promise<string[]> {
      const isSeen = () => resets > 0 || wanted.every((change) => seen.has(change));
      await waitFor(wanted.join(), isSeen);
      return resets > 0 ? wanted : [...seen];
    },
  };
}
