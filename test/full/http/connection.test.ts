import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  startServiceWithRobot,
  startTestService,
  type TestService,
} from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { expectProtocol, type Reply } from '../../support/wire.ts';

describe('a connection that breaks the rules', () => {
  let service: TestService;
  beforeAll(async () => {
    ({ service } = await startServiceWithRobot());
  });
  afterAll(() => service.close());

  const exchange = (bytes: string) => exchangeWith(service.url, bytes);
  const _CLOSE = 'connection: close\r\n';

  // It waits for the service's own 30 s; the slow connections below have a shorter limit.
  it('is told so as well when only its body is slow', async () => {
    const reply = await exchange(
      'POST /api/auth/challenge HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );

    expect(reply.status).toBe(408);
    expect(reply.body.error).toBe('request_timeout');
  });
});

describe('a connection that is slow, or never closes its side', () => {
  let service: TestService;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    const timeouts = { headersMs: 300, requestMs: 600, unreadMs: 30_000, checkMs: 50 };
    service = await startTestService({ timeouts });
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(() => service.close());

  /** Says no more than these bytes and answers the end of the service's side with nothing. */
  async function keepOpen(bytes: string): Promise<{ answers: Reply[] }> {
    const { socket, text, ended } = openRaw(service.url);
    sockets.push(socket);
    socket.write(bytes);
    await ended;
    await waitFor('the end of the connection', async () => (await connections()) === 0);
    return { answers: readReplies(text()) };
  }

  const connections = () => promisify(service.app.server.getConnections).call(service.app.server);
  const post = (path: string) =>
    `POST ${path} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`;

  it.each([
    ['sends no HTTP', 'hello\r\n\r\n', 'invalid_request'],
    ['sends half of its headers', 'GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow', 'request_timeout'],
    ['sends nothing', '', 'request_timeout'],
    ['sends half of its body', post('/api/auth/logout'), 'request_timeout'],
    ['sends huge headers', `GET / HTTP/1.1\r\nx: ${'a'.repeat(20_000)}\r\n`, 'headers_too_large'],
    ['is answered before its body is there', post('/api/v1/tasks'), 'missing_api_key'],
    [
      'sends a broken chunk',
      post('/api/auth/logout').replace('content-length: 10', 'transfer-encoding: chunked'),
      'invalid_request',
    ],
  ])('is answered once and ended when it %s', async (_, bytes, code) => {
    const { answers } = await keepOpen(bytes);

    expect(answers.map(({ body }) => body.error)).toEqual([code]);
  });
});

/** A connection of which only the service closes a side, which ends it; `text` is what came so far. */
function openRaw(url: string): { socket: Socket; text: () => string; ended: Promise<void> } {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => {
    socket.once('end', resolve);
    socket.on('error', () => resolve());
  });
  return { socket, text: () => text, ended };
}

/** Sends bytes as they are and reads until the service closes the connection. */
async function exchangeWith(url: string, bytes: string): Promise<Reply> {
  const { socket, text, ended } = openRaw(url);
  socket.write(bytes);
  await ended;
  socket.destroy();
  const [reply] = readReplies(text());
  if (reply === undefined) throw new Error('The connection ended without an answer');
  const [method = '', path = ''] = bytes.split(' ', 2);
  expectProtocol(method, path, reply);
  return reply;
}

/** The answers in a text, each of which has a length. */
function readReplies(text: string): Reply[] {
  const replies: Reply[] = [];
  let rest = text;
  while (rest.includes('\r\n\r\n')) {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const at = line.indexOf(':');
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    );
    const length = Number(headers.get('content-length'));
    const body = rest.slice(end + 4, end + 4 + length);
    replies.push({ status: Number(first.split(' ')[1]), headers, body: JSON.parse(body) });
    rest = rest.slice(end + 4 + length);
  }
  return replies;
}
