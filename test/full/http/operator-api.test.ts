import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { buildOperatorApi, listenForOperator } from '../../../src/server/http/operator-api.ts';
import { RefusedCallers } from '../../../src/server/http/server/refused-callers.ts';
import { type Owner, startTestService, type TestService } from '../../support/service.ts';

const token = 'a-token-of-the-operator';
const refusals = new RefusedCallers(clock);

let service: TestService;
let api: FastifyInstance;
let url: string;
let owner: Owner;
beforeAll(async () => {
  service = await startTestService({ refusals });
  const { store, chain } = service;
  api = buildOperatorApi({
    store,
    chain,
    clock,
    logger: pino({ level: 'silent' }),
    token,
    refusals,
  });
  url = await api.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await api.close();
  await service.close();
});
beforeEach(async () => {
  owner = await service.signIn();
});

async function ask(method: string, target: string, body?: unknown, bearer = token) {
  const reply = await fetch(url + target, {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the tests name what they expect of it
  return { status: reply.status, body: (await reply.json()) as any };
}

describe('the operator API', () => {
  it('grants an invoice once, although responses are lost (examples/billing.js)', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-billing-'));
    const invoices = path.join(folder, 'invoices.jsonl');
    const { wallet } = owner;
    const before = await ask('GET', `/accounts/${wallet}`);
    await writeFile(invoices, `${JSON.stringify({ invoice: randomUUID(), wallet, anchors: 7 })}\n`);
    await writeFile(path.join(folder, 'token'), token);
    // The first two answers are lost after the grant was made.
    let lost = 0;
    const proxy = createServer((call, reply) => {
      const forward = request(
        url + call.url,
        { method: 'POST', headers: call.headers },
        (answer) => {
          lost += 1;
          if (lost <= 2) reply.destroy();
          else answer.pipe(reply.writeHead(answer.statusCode ?? 500, answer.headers));
        },
      );
      call.pipe(forward);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;

    const { stdout } = await promisify(execFile)('node', ['examples/billing.js', invoices], {
      env: {
        ...process.env,
        SVC_OPERATOR_URL: `http://127.0.0.1:${port}`,
        SVC_OPERATOR_TOKEN_FILE: path.join(folder, 'token'),
      },
    });

    proxy.close();
    await rm(folder, { recursive: true, force: true });
    const { body } = await ask('GET', `/accounts/${wallet}`);
    expect([lost, stdout]).toEqual([3, expect.stringMatching(/ repeated\n$/)]);
    expect(body.anchor_quota).toBe(before.body.anchor_quota + 7);
  });
});

describe('where the operator API listens', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-operator-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('is a socket for its owner alone', async () => {
    const { store, chain } = service;
    const logger = pino({ level: 'silent' });
    const alone = buildOperatorApi({ store, chain, clock, logger, token, refusals });
    const socketPath = path.join(folder, 'operator.sock');
    // As a killed server leaves it.
    await promisify(execFile)('node', [
      '-e',
      `require('node:net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ]).catch(() => {});
    await listenForOperator(alone, socketPath);

    const { mode } = await stat(socketPath);
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const call = request({ socketPath, path: '/accounts', headers }, (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      });
      call.on('error', reject).end();
    });
    await alone.close();

    expect([mode & 0o777, status]).toEqual([0o600, 200]);
  });
});
