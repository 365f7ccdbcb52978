// Receives the messages of a webhook on this machine, and checks their signatures.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { orNull } from '../../base/or-null.ts';
import { SvcError } from '../../base/svc-error.ts';

/** Of one message. The service's own messages are far smaller. */
const BODY_BYTES = 1024 * 1024;

export interface Received {
  received_at: string;
  /** Null if the request names none. Nothing but `signature` is proven by it. */
  id: string | null;
  type: string | null;
  /** `ok`, or why the signature does not prove the message. */
  signature: string;
  /** The parsed body; null if it is no JSON. */
  message: unknown;
}

/**
 * Listens at 127.0.0.1, and reports each POST. Answers 204 if the secret signed the message within the last 5 minutes,
 * 401 if not, and 413 to a larger body. `port`: 0 chooses a free one. Rejects with SvcError `usage`.
 */
export async function startReceiver(
  { port, secret }: { port: number; secret: string },
  onReceived: (received: Received) => void,
): Promise<{ url: string; close(): void }> {
  const webhook = webhookOf(secret);
  const server = createServer((request, response) => {
    // A sender that breaks off gets no answer.
    receive(webhook, request, response, onReceived).catch(() => request.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch(({ code }) => {
    throw new SvcError('usage', `Cannot listen on 127.0.0.1, port ${port} (${code}).`, {
      hint: 'Choose another port with --port.',
    });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function webhookOf(secret: string): Webhook {
  if (/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)) return new Webhook(secret);
  throw new SvcError('usage', 'This is not the secret of a webhook: whsec_ and 44 characters.', {
    hint: 'Use what svc webhooks create or svc webhooks rotate-secret printed.',
  });
}

async function receive(
  webhook: Webhook,
  request: IncomingMessage,
  response: ServerResponse,
  onReceived: (received: Received) => void,
): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST', connection: 'close' }).end();
    return;
  }
  const body = await readBody(request);
  const message: unknown = orNull(() => JSON.parse(body ?? ''));
  const signature = body === null ? 'the body has more than 1 MiB' : check(webhook, request, body);
  const status = signature === 'ok' ? 204 : 401;
  response.writeHead(body === null ? 413 : status, { connection: 'close' }).end();
  const { type } = Object(message);
  onReceived({
    received_at: new Date().toISOString(),
    id: request.headers['webhook-id']?.toString() ?? null,
    type: typeof type === 'string' ? type : null,
    signature,
    message,
  });
}

/** Null if the body is too large; the rest of it is read and dropped. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES) chunks.push(chunk);
  }
  return bytes > BODY_BYTES ? null : Buffer.concat(chunks).toString();
}

function check(webhook: Webhook, { headers }: IncomingMessage, body: string): string {
  try {
    webhook.verify(body, headers as Record<string, string>, { jsonParse: false });
    return 'ok';
  } catch (error) {
    const { message } = error as Error;
    return message.charAt(0).toLowerCase() + message.slice(1);
  }
}
