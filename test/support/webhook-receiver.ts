import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestCertificate } from './certificate.ts';

export interface ReceivedMessage {
  id: string;
  headers: Record<string, string>;
  body: string;
  /** Parsed from the body. */
  type: string;
  data: Record<string, unknown>;
}

type Answered = number | { status: number; location?: string; interim?: number };

/**
 * An HTTPS server that keeps what it receives. `answer` decides the status of each response, and how many interim
 * responses (102) come before it.
 */
export async function startReceiver(
  { key, cert }: Pick<TestCertificate, 'key' | 'cert'>,
  answer: (message: ReceivedMessage) => Answered | Promise<Answered> = () => 204,
  port = 0,
) {
  const received: ReceivedMessage[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text) => {
      body += text;
    });
    request.on('end', async () => {
      const headers = request.headers as Record<string, string>;
      const message = { id: headers['webhook-id'] ?? '', headers, body, ...JSON.parse(body) };
      received.push(message);
      const answered = await answer(message);
      const given: Exclude<Answered, number> =
        typeof answered === 'number' ? { status: answered } : answered;
      const { status, interim = 0, ...others } = given;
      for (let sent = 0; sent < interim; sent += 1) response.writeProcessing();
      response.writeHead(status, others).end('the body of a response');
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${actual}/hook`,
    port: actual,
    received,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
