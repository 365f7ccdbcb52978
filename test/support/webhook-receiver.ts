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

/** An HTTPS server that keeps what it receives. `answer` decides the status of each response. */
export async function startReceiver(
  { key, cert }: Pick<TestCertificate, 'key' | 'cert'>,
  answer: (message: ReceivedMessage) => number | { status: number; location: string } = () => 204,
  port = 0,
) {
  const received: ReceivedMessage[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const headers = request.headers as Record<string, string>;
      const message = { id: headers['webhook-id'] ?? '', headers, body, ...JSON.parse(body) };
      received.push(message);
      const answered = answer(message);
      const { status, ...others } = typeof answered === 'number' ? { status: answered } : answered;
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
