import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { Send } from './wire.ts';

export interface LocalReply {
  status: number;
  headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

/** One request to an agent, at a path of its unix socket or at an address. */
export async function callLocally(
  at: { socketPath: string } | { port: number; host: string },
  method: string,
  path: string,
  { body, raw, headers }: Pick<Send, 'body' | 'raw' | 'headers'> = {},
): Promise<LocalReply> {
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const sent = request({
    ...at,
    method,
    path,
    agent: false,
    headers: { ...(content !== undefined && { 'content-type': 'application/json' }), ...headers },
  });
  // An answer may come before all is sent.
  sent.on('error', () => {});
  sent.end(content);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const text = await readText(answer);
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    body: text === '' ? null : JSON.parse(text),
  };
}
