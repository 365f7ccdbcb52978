import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { startTestService, type TestRobot, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const FULL = '{}'.padEnd(limits.bodyBytes);

let service: TestService;
let robots: TestRobot[];
let sockets: Socket[];
beforeEach(async () => {
  service = await startTestService();
  robots = [];
  for (let i = 0; i < 4; i += 1) robots.push((await service.signInWithRobot()).robot);
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

/** Sends bodies of 2 MiB, each over a connection of its own. */
function fill(robot: number, bodies: number): Socket[] {
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
  for (const socket of opened) socket.write(`${head.join('\r\n')}\r\n\r\n${FULL}`);
  return opened;
}

function connections(): Promise<number> {
  const { server } = service.app;
  return promisify(server.getConnections.bind(server))();
}

async function firstAnswer(opened: Socket[]): Promise<string> {
  const [bytes] = await Promise.race(opened.map((socket) => once(socket, 'data')));
  return String(bytes);
}

it('are bounded in bytes, those of one account and those of all', async () => {
  const ofOne = await firstAnswer(fill(0, 17));
  const ofAnother = await firstAnswer(fill(1, 17));
  const inAll = await post(2);

  for (const answer of [ofOne, ofAnother]) {
    expect(answer).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 5\r\n.*"error":"overloaded"/s);
  }
  expect([inAll.status, inAll.body.error]).toEqual([503, 'overloaded']);
  expect(inAll.headers.get('retry-after')).toBe('5');
});

it('leave their room to others when their connections close', async () => {
  const before = await connections();
  const waiting = fill(0, 17);
  await firstAnswer(waiting);
  for (const socket of waiting) socket.destroy();
  await waitFor('their end', async () => (await connections()) <= before);

  fill(1, 15);
  let answered = false;
  const reply = Promise.all([post(0), post(1), post(2)]).finally(() => {
    answered = true;
  });
  await waitFor('the answers', async () => {
    await vi.advanceTimersByTimeAsync(100);
    return answered;
  });

  expect((await reply).map(({ status }) => status)).toEqual([201, 201, 201]);
});
