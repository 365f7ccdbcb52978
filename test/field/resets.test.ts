// Parties that answer garbage and reset the connection, at each kind of connection that the programs open or accept.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { askAgent } from '../../src/agent/commands/local-client.ts';
import { checkService } from '../../src/agent/doctor/service.ts';
import { createReader } from '../../src/agent/uploads/answers.ts';
import { proxiedFetch } from '../../src/base/proxy/connections.ts';
import { keepServing, removeStaleSocket } from '../../src/base/sockets.ts';
import { connectRpc } from '../../src/chain/rpc.ts';
import { httpFetch } from '../../src/cli/program/http-fetch.ts';
import { createClient } from '../../src/client/client.ts';
import { createSender } from '../../src/server/core/webhooks/webhook-relay.ts';
import { startServiceWithRobot, type TestService } from '../support/service.ts';

/** Errors that nothing handled. The run fails because of them, too. */
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
beforeAll(() => void process.on('uncaughtException', note));
afterAll(() => void process.off('uncaughtException', note));

const head = 'HTTP/1.1 200 OK\r\n';
const answers: Record<string, string> = {
  nothing: '',
  garbage: 'SSH-2.0-OpenSSH_9.6\r\n\0\xff\r\n\r\n',
  'half a head': 'HTTP/1.1 200 O',
  'half a body': `${head}content-length: 99\r\n\r\n{"status":`,
  'a body to the end of the connection': `${head}connection: close\r\n\r\n{`,
  'an open stream': `${head}content-type: text/event-stream\r\n\r\ndata: {`,
  'two answers': `${head}content-length: 2\r\n\r\n{}${head}content-length: 2\r\n\r\n{}`,
  'an unexpected protocol':
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx',
  'a wrong chunk': `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`,
  'no TLS in a tunnel': `${head}\r\n\x15\x03\x01\0\x02\x02\x28 not TLS`,
};

/** Each kind of connection that the programs open. */
const kinds: Record<string, (at: { url: string; host: string; file: string }) => Promise<unknown>> =
  {
    'the command line': ({ url }) =>
      createClient({ baseUrl: url, fetch: httpFetch }).call('getHealth'),
    'a stream of the command line': ({ url }) => {
      const { changes } = createClient({ baseUrl: url, fetch: httpFetch });
      return changes(new AbortController().signal).next();
    },
    'the agent': ({ url }) => createReader({ baseUrl: url, fetch: proxiedFetch }).call('getHealth'),
    'the doctor of the agent': ({ host }) =>
      checkService({ serviceUrl: `https://${host}`, key: null } as never, null),
    'a call of the agent’s socket': ({ file }) => askAgent(file, 'GET', '/v1/status'),
    'a look at the agent’s socket': ({ file }) => removeStaleSocket(file),
    'a node of the chain': async ({ url }) => {
      const rpc = connectRpc({ url, timeoutMs: 5_000 });
      const asked = rpc.reading([{ method: 'eth_chainId', params: [] }]);
      await asked.finally(() => rpc.close());
    },
    'a webhook': async ({ host }) => {
      const sender = createSender({ mayConnect: () => true });
      await sender.post(`https://${host}/`, {}, '{}').finally(sender.close);
    },
    'a webhook through a proxy': async ({ url }) => {
      const resolve = async () => ['127.0.0.1'];
      const sender = createSender({ mayConnect: () => true, resolve, proxy: url });
      await sender.post('https://receiver.test/', {}, '{}').finally(sender.close);
    },
  };

describe.each(Object.keys(kinds))('%s', (kind) => {
  it.each(Object.keys(answers))('survives %s and a reset', async (answer) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-reset-'));
    const reset = (socket: Socket) => {
      socket.on('error', () => {});
      const end = () =>
        socket.remoteAddress === undefined ? socket.destroy() : socket.resetAndDestroy();
      socket.once('data', () => socket.write(answers[answer] ?? '', 'latin1', end));
    };
    const [tcp, unix] = [createServer(reset), createServer(reset)];
    tcp.listen(0, '127.0.0.1');
    unix.listen(path.join(folder, 'socket'));
    await Promise.all([once(tcp, 'listening'), once(unix, 'listening')]);
    onTestFinished(async () => {
      tcp.close();
      unix.close();
      await rm(folder, { recursive: true });
    });
    const host = `127.0.0.1:${(tcp.address() as { port: number }).port}`;
    const at = { url: `http://${host}`, host, file: path.join(folder, 'socket') };

    await Promise.allSettled([kinds[kind]?.(at), kinds[kind]?.(at)]);
    await new Promise(setImmediate);

    expect(unhandled).toEqual([]);
  });
});

describe('the service', () => {
  let site: Awaited<ReturnType<typeof startServiceWithRobot>>;
  let service: TestService;
  beforeAll(async () => {
    site = await startServiceWithRobot();
    ({ service } = site);
  });
  afterAll(() => service.close());

  async function resetAfter(text: string): Promise<void> {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    await new Promise((sent) => socket.write(text, 'latin1', sent));
    socket.on('error', () => {}).resetAndDestroy();
    await once(socket, 'close');
  }

  it('survives requests that are reset at each byte, streams among them', async () => {
    const cookie = `cookie: svc_session=${site.owner.session}\r\n`;
    const request = `POST /api/v1/events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${cookie}content-length: 9\r\n\r\n{"a":`;
    const stream = `GET /api/v1/stream HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n${cookie}\r\n`;
    for (const text of [request, stream, `${stream}${stream}`, 'CONNECT x:1 HTTP/1.1\r\n\r\nx']) {
      for (let length = 0; length <= text.length; length += 7)
        await resetAfter(text.slice(0, length));
      await resetAfter(text);
    }

    expect((await service.call('GET', '/healthz')).status).toBe(200);
    expect(unhandled).toEqual([]);
  });

  it('survives a connection that the system cannot accept', async () => {
    const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' });

    expect(service.app.server.emit('error', error)).toBe(true);

    expect(service.logLines.join('')).toContain('failed to accept a connection');
    expect((await service.call('GET', '/healthz')).status).toBe(200);
  });
});

it('reports an error of listening to the caller', async () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const second = keepServing(createServer(), logger);

  const failed = once(
    second.listen((taken.address() as { port: number }).port, '127.0.0.1'),
    'listening',
  );

  await expect(failed).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(lines).toEqual([]);
});
