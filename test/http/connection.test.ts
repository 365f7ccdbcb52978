import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestRobot, type TestService } from '../support/service.ts';
import { expectProtocol, type Reply } from '../support/wire.ts';

describe('a connection that breaks the rules', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService();
    robot = await service.makeRobot(await service.signIn());
  });
  afterAll(() => service.close());

  /** Sends bytes as they are and reads until the service closes the connection. */
  async function exchange(bytes: string): Promise<Reply> {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.write(bytes);
    await once(socket, 'close');
    const [head = '', body = ''] = text.split('\r\n\r\n');
    const [first = '', ...lines] = head.split('\r\n');
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const at = line.indexOf(':');
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    );
    const reply = { status: Number(first.split(' ')[1]), headers, body: JSON.parse(body) };
    const [method = '', path = ''] = bytes.split(' ', 2);
    expectProtocol(method, path, reply);
    return reply;
  }

  const CLOSE = 'connection: close\r\n';

  it.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a broken header', 'GET / HTTP/1.1\r\nhost x\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    [
      'a length beside chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
  ])('is told so for %s', async (_, bytes) => {
    const reply = await exchange(bytes);

    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_request');
  });

  it('is told that its headers are too large', async () => {
    const reply = await exchange(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`);

    expect(reply.status).toBe(431);
    expect(reply.body.error).toBe('headers_too_large');
  });

  it('is told that its request took too long', async () => {
    const reply = await exchange('GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow');

    expect(reply.status).toBe(408);
    expect(reply.body.error).toBe('request_timeout');
  });

  it('is told so as well when only its body is slow', async () => {
    const reply = await exchange(
      'POST /api/auth/challenge HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );

    expect(reply.status).toBe(408);
    expect(reply.body.error).toBe('request_timeout');
  });

  it('gets an answer without a Host header, or with an expectation', async () => {
    const hostless = await exchange(`GET /healthz HTTP/1.1\r\n${CLOSE}\r\n`);
    const expecting = await exchange(
      `GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\n${CLOSE}\r\n`,
    );

    expect(hostless.body).toEqual({ status: 'up' });
    expect(expecting.body).toEqual({ status: 'up' });
  });

  it('is refused a body that announces more than 2 MiB before it is sent', async () => {
    const reply = await exchange(
      [
        'POST /api/v1/tasks HTTP/1.1',
        'host: x',
        `authorization: Bearer ${robot.apiKey}`,
        'content-type: application/json',
        'content-length: 999999999',
        '\r\n',
      ].join('\r\n'),
    );

    expect(reply.status).toBe(413);
    expect(reply.body.error).toBe('payload_too_large');
  });

  it('does not hold up the shutdown by saying nothing', async () => {
    const doomed = await startTestService();
    const { hostname, port } = new URL(doomed.url);
    const silent = connect(Number(port), hostname);
    await once(silent, 'connect');
    const ended = once(silent, 'close');

    await doomed.close();

    await ended;
  });

  it('is refused a chunked body that grows beyond 2 MiB', async () => {
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    const reply = await exchange(
      [
        'POST /api/v1/tasks HTTP/1.1',
        'host: x',
        `authorization: Bearer ${robot.apiKey}`,
        'content-type: application/json',
        'transfer-encoding: chunked',
        `\r\n${chunk.repeat(33)}`,
      ].join('\r\n'),
    );

    expect(reply.status).toBe(413);
    expect(reply.body.error).toBe('payload_too_large');
  });
});
