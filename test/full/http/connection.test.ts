import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { InFlightRequests, MOST_DUE } from '../../../src/server/http/server/in-flight.ts';
import { arrivalTimeouts, createHttpServer } from '../../../src/server/http/server/listener.ts';
import { Connections } from '../../../src/server/http/server/strangers.ts';
import { letCompletionsIn } from '../../support/fee-quote.ts';
import {
  newEvidence,
  startServiceWithRobot,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { expectProtocol, type Reply } from '../../support/wire.ts';

describe('a connection that breaks the rules', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, robot } = await startServiceWithRobot());
  });
  afterAll(() => service.close());

  const exchange = (bytes: string) => exchangeWith(service.url, bytes);
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
  ])('gets an error for %s', async (_, bytes) => {
    const reply = await exchange(bytes);

    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_request');
  });

  it('gets an error for headers that are too large', async () => {
    const reply = await exchange(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`);

    expect(reply.status).toBe(431);
    expect(reply.body.error).toBe('headers_too_large');
  });

  it('does not find its Host header in a response', async () => {
    const { wallet } = await service.signIn();
    const body = JSON.stringify({ address: wallet });
    const head = [
      'POST /api/auth/challenge HTTP/1.1',
      'host: evil.test',
      'x-forwarded-host: evil.test',
      'content-type: application/json',
      `content-length: ${body.length}`,
      'connection: close',
    ];

    const reply = await exchange(`${head.join('\r\n')}\r\n\r\n${body}`);

    expect(reply.status).toBe(200);
    expect(reply.body.message).toContain(`URI: ${service.url}`);
    expect(JSON.stringify([reply.body, [...reply.headers]])).not.toContain('evil.test');
  });

  // It waits for the service's own 30 s; the slow connections below have a shorter limit.
  it('gets an error if only its body is slow', async () => {
    const reply = await exchange(
      'POST /api/auth/challenge HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );

    expect(reply.status).toBe(408);
    expect(reply.body.error).toBe('request_timeout');
  });

  it('gets a response without a Host header, or with an expectation', async () => {
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

  it('does not delay the shutdown by silence', async () => {
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
  ])('gets one response and is closed if it %s', async (_, bytes, code) => {
    const { answers } = await keepOpen(bytes);

    expect(answers.map(({ body }) => body.error)).toEqual([code]);
  });

  it('is closed on request, in HTTP/1.0 too', async () => {
    const { answers } = await keepOpen('GET /healthz HTTP/1.0\r\n\r\n');

    expect(answers.map(({ body }) => body)).toEqual([{ status: 'up' }]);
  });
});

describe('a connection that sends requests ahead', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, robot } = await startServiceWithRobot({ settings: { anchorTimeoutMs: 60_000 } }));
    await letCompletionsIn(service.store);
  });
  afterAll(() => service.close());

  const HEALTH = 'GET /healthz HTTP/1.1\r\n\r\n';

  function completion(taskId: string): string {
    const body = JSON.stringify({ proof: newEvidence() });
    const head = [
      `POST /api/v1/tasks/${taskId}/complete HTTP/1.1`,
      `authorization: Bearer ${robot.apiKey}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];
    return `${head.join('\r\n')}\r\n\r\n${body}`;
  }

  it(`gets ${MOST_DUE} responses, in order`, async () => {
    const { socket, text } = openRaw(service.url);

    socket.write(HEALTH.repeat(MOST_DUE));

    await waitFor('the answers', () => readReplies(text()).length === MOST_DUE);
    socket.destroy();
  });

  it('is closed if more are pending, and no more of them are handled', async () => {
    const before = service.logLines.length;
    const { socket, ended } = openRaw(service.url);

    // Not HEALTH: a probe is not logged.
    socket.write(HEALTH.replace('/healthz', '/nowhere').repeat(2000));

    await ended;
    await service.call('GET', '/readyz');
    const handled = service.logLines.slice(before).filter((line) => line.includes('"answered"'));
    expect(handled.length).toBeLessThanOrEqual(MOST_DUE + 1);
  });

  it.each([
    ['no HTTP', 'BAD\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nx: ${'a'.repeat(20_000)}\r\n`, 431],
  ])('gets the responses to all requests before %s', async (_, garbage, status) => {
    const { socket, text, ended } = openRaw(service.url);

    socket.write(HEALTH.repeat(3) + garbage);

    await ended;
    expect(readReplies(text()).map((reply) => reply.status)).toEqual([200, 200, 200, status]);
  });

  it('gets the response to a completion before the error for the garbage after it', async () => {
    service.settings.anchorTimeoutMs = 200;
    const taskId = await service.claim(robot);
    const { socket, text, ended } = openRaw(service.url);

    socket.write(`${completion(taskId)}BAD\r\n\r\n`);

    await ended;
    service.settings.anchorTimeoutMs = 60_000;
    expect(readReplies(text()).map(({ status, body }) => [status, body.error])).toEqual([
      [202, 'anchor_queued'],
      [400, 'invalid_request'],
    ]);
  });

  it('aborts the wait of all its completions when it closes', async () => {
    const wait = vi.spyOn(service.store, 'waitForCompletions');
    const [first, second] = [await service.claim(robot), await service.claim(robot)];
    const { socket } = openRaw(service.url);
    socket.write(completion(first) + completion(second));
    await waitFor('both to wait', () => wait.mock.results.length === 2);

    socket.destroy();

    const ends = await Promise.all(wait.mock.results.map(({ value }) => value));
    wait.mockRestore();
    expect(ends).toEqual([undefined, undefined]);
  });

  it.runIf(process.platform === 'linux')('leaves no file open when it closes', async () => {
    const page = await (await fetch(`${service.url}/docs`)).text();
    const large = /\/assets\/docs-[\w-]+\.js/.exec(page)?.[0] ?? '';
    const openFiles = () => readdirSync('/proc/self/fd').length;
    const before = openFiles();
    for (let i = 0; i < 10; i += 1) {
      const { socket } = openRaw(service.url);
      socket.pause();
      socket.write(HEALTH.replace('/healthz', large).repeat(MOST_DUE));
      await waitFor('the first file to be open', () => openFiles() > before + i + 1);
      socket.destroy();
    }

    await waitFor('the files to be closed', () => openFiles() <= before + 20);
  });

  it('is closed if it reads none of many responses, of which the first are small', async () => {
    const answers = new InFlightRequests();
    const connections = new Connections([], () => false);
    const answer = Buffer.alloc(256 * 1024);
    const server = createHttpServer(
      (_, response) => void response.end(answer),
      answers,
      arrivalTimeouts,
      connections,
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { socket } = openRaw(`http://127.0.0.1:${port}`);
    socket.pause();
    const [served] = (await Promise.all([
      once(server, 'connection'),
      socket.write(HEALTH.repeat(MOST_DUE)),
    ])) as [[Socket], boolean];
    await waitFor('the requests', () => served[0].bytesRead >= HEALTH.length * MOST_DUE);

    answers.boundUnread(4 * 1024 * 1024);

    expect(served[0].destroyed).toBe(true);
    socket.destroy();
    server.close();
  });

  it('does not delay a shutdown if it closed with responses pending', async () => {
    const doomed = await startTestService();
    const { socket, ended } = openRaw(doomed.url);

    socket.write(HEALTH.repeat(MOST_DUE + 1));
    await ended;

    // The time that answers under way are given never ends.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    onTestFinished(() => clock.mockRestore());

    await expect(doomed.close()).resolves.toBeUndefined();
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
