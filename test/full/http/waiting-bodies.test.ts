import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import { createBodyParser } from '../../../src/server/http/server/bodies.ts';
import { letCompletionsIn } from '../../support/fee-quote.ts';
import { startTestService, type TestRobot, type TestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

const FULL = '{}'.padEnd(limits.bodyBytes);

let service: TestService;
let robots: TestRobot[];
let sockets: Socket[];
/** The remote ports of the service's connections. */
let ports: Set<number>;
beforeEach(async () => {
  service = await startTestService();
  ports = new Set();
  service.app.server.on('connection', (socket: Socket) => {
    const { remotePort = 0 } = socket;
    ports.add(remotePort);
    socket.once('close', () => ports.delete(remotePort));
  });
  robots = [];
  for (let i = 0; i < 5; i += 1) robots.push((await service.signInWithRobot()).robot);
  sockets = [];
  // A turn ends by a timer: none ends, and what comes next waits.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  expect((await post(0)).status).toBe(201);
});
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  await service.close();
});

const post = (robot: number) =>
  service.call('POST', '/api/v1/telemetry', { apiKey: robots[robot]?.apiKey ?? '', raw: FULL });

/** Sends bodies of 2 MiB, each over a connection of its own; without the last byte they never arrive. */
function fill(robot: number, bodies: number, sent = FULL): Socket[] {
  const { hostname, port } = new URL(service.url);
  const head = [
    'POST /api/v1/telemetry HTTP/1.1',
    'host: x',
    `authorization: Bearer ${robots[robot]?.apiKey}`,
    'content-type: application/json',
    `content-length: ${FULL.length}`,
  ];
  const opened = Array.from({ length: bodies }, () => connect(Number(port), hostname));
  sockets.push(...opened);
  for (const socket of opened) socket.write(`${head.join('\r\n')}\r\n\r\n${sent}`);
  return opened;
}

/** Closes connections, and waits until the service has seen it. */
async function close(opened: readonly Socket[]): Promise<void> {
  const closing = opened.map(({ localPort = 0 }) => localPort);
  for (const socket of opened) socket.destroy();
  await waitFor('their end', () => !closing.some((port) => ports.has(port)));
}

async function firstAnswer(opened: Socket[]): Promise<string> {
  const [bytes] = await Promise.race(opened.map((socket) => once(socket, 'data')));
  return String(bytes);
}

async function whileTurnsEnd<T>(replies: Promise<T>): Promise<T> {
  let answered = false;
  const all = replies.finally(() => {
    answered = true;
  });
  await waitFor('the answers', async () => {
    await vi.advanceTimersByTimeAsync(100);
    return answered;
  });
  return all;
}

it('are limited in bytes, per account and in total', async () => {
  const ofOne = await firstAnswer(fill(0, 17));
  // Of each account 32 MiB are held, 128 MiB of all.
  for (const robot of [1, 2, 3]) await firstAnswer(fill(robot, 17));
  const largest = sockets.flatMap((socket) => once(socket, 'data'));

  // An account that has none waiting displaces one of an account that has the most.
  const ofSmall = post(4);
  const [displaced] = await Promise.race(largest);
  const reply = await whileTurnsEnd(ofSmall);

  for (const answer of [ofOne, String(displaced)]) {
    expect(answer).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 5\r\n.*"error":"overloaded"/s);
  }
  expect(reply.status).toBe(201);
});

it('cost nothing while they are only announced', async () => {
  for (const robot of [0, 1, 2, 3]) fill(robot, 40, '');
  await waitFor('the connections', () => ports.size > 160);

  const reply = await whileTurnsEnd(post(4));

  expect(reply.status).toBe(201);
});

it('are refused when their connections close before they are read', () => {
  const raw = new PassThrough().destroy();
  const answers: unknown[] = [];
  const request = { raw, ip: '192.0.2.1', headers: {}, routeOptions: { bodyLimit: 100 } };

  createBodyParser()(request as never, raw as never, (error) => answers.push(error));

  expect(answers).toMatchObject([{ code: 'invalid_request' }]);
});

it('free their room when their connections close', async () => {
  const waiting = fill(0, 17);
  await firstAnswer(waiting);
  await close(waiting);

  fill(1, 15);
  const replies = await whileTurnsEnd(Promise.all([post(0), post(1), post(2)]));

  expect(replies.map(({ status }) => status)).toEqual([201, 201, 201]);
});

it('are limited in bytes while they arrive, and free their room when their connections close', async () => {
  const arriving = fill(0, 17, FULL.slice(1));

  const answer = await firstAnswer(arriving);
  const ofAnother = await whileTurnsEnd(post(1));
  await close(arriving);
  const afterwards = await whileTurnsEnd(Promise.all(Array.from({ length: 16 }, () => post(0))));

  expect(answer).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 5\r\n.*"error":"overloaded"/s);
  expect(ofAnother.status).toBe(201);
  expect(afterwards.map(({ status }) => status)).toEqual(Array(16).fill(201));
});

it('of a request that reads none end only with their connections', async () => {
  const { hostname, port } = new URL(service.url);
  const heads = [
    'GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 40000\r\n\r\n',
    'POST /api/auth/verify HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 40000\r\n\r\n',
    'POST /api/auth/verify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
  ];
  for (let i = 0; i < 30; i += 1) {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    sockets.push(socket);
    socket.write(`${heads[i % heads.length]}1`);
    if (i % 2 === 0) await once(socket, 'connect');
    socket.resetAndDestroy();
  }

  expect((await whileTurnsEnd(post(1))).status).toBe(201);
});

it('of the wrong type keep their connection for the next request', async () => {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let answers = '';
  socket.on('data', (bytes) => {
    answers += String(bytes);
  });
  const body = 'x'.repeat(60_000);
  socket.write(
    `POST /api/auth/verify HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  await waitFor('the refusal', () => answers.includes('HTTP/1.1 415'));

  socket.write(`${body}GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`);

  await waitFor('the next answer', () => answers.includes('HTTP/1.1 200'));
});

it('cost their size, however small their chunks', async () => {
  const { hostname, port } = new URL(service.url);
  const head = `POST /api/v1/telemetry HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${robots[0]?.apiKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  sockets.push(socket);
  const answer = firstAnswer([socket]);

  // 130 000 bytes, whose chunks take more than 32 MiB.
  socket.write(head + '1\r\n \r\n'.repeat(135_000));

  expect(await answer).toMatch(/^HTTP\/1\.1 503 .*"error":"overloaded"/s);
});

describe('are freed', () => {
  const collectGarbage = garbageCollector();
  let bodies: WeakRef<object>[];
  beforeEach(() => {
    bodies = [];
    // Fastify publishes each call of a handler, with the request that still has its body.
    const handling = channel('tracing:fastify.request.handler:start');
    const note = (handled: unknown) => {
      const { body } = (handled as { request: FastifyRequest }).request;
      for (const part of [body, ...Object.values(body as object).flat()]) {
        if (typeof part === 'object' && part !== null) bodies.push(new WeakRef(part));
      }
    };
    handling.subscribe(note);
    onTestFinished(() => void handling.unsubscribe(note));
  });

  async function expectNoBody() {
    expect(bodies).not.toEqual([]);
    await nextTurn();
    collectGarbage();
    expect(bodies.map((body) => body.deref()).filter((body) => body !== undefined)).toEqual([]);
  }

  it('before their samples are stored', async () => {
    const { recordSamples } = service.store;
    service.store.recordSamples = async (samples) => {
      await expectNoBody();
      return recordSamples(samples);
    };

    const body = { samples: [{ state: 'idle', metrics: { speed: 1 } }] };
    const apiKey = robots[0]?.apiKey ?? '';
    const reply = await service.call('POST', '/api/v1/telemetry', { apiKey, body });

    expect(reply.status).toBe(201);
  });

  it('before their proof is stored', async () => {
    await letCompletionsIn(service.store);
    const robot = robots[0] as TestRobot;
    const taskId = await service.claim(robot);
    bodies = [];
    const { queueCompletion } = service.store;
    service.store.queueCompletion = async (completion) => {
      await expectNoBody();
      return queueCompletion(completion);
    };
    service.settings.anchorTimeoutMs = 0;
    vi.useRealTimers();

    const reply = await service.complete(robot, taskId);

    expect(reply.status).toBe(202);
  });
});

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}
