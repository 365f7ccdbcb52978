import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { connectRpc } from '../../src/chain/rpc.ts';
import { groupsFor } from '../../src/cli/groups.ts';
import { exitCodes } from '../../src/cli/program/exit-codes.ts';
import { httpFetch } from '../../src/cli/program/http-fetch.ts';
import { createClient } from '../../src/client/client.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { waitFor } from '../support/wait-for.ts';

/** Whatever listens at the address: it answers every request with these bytes. */
let answer: string;
let other: Server;
let url: string;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-other-'));
  other = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(answer));
  });
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
});
afterAll(async () => {
  other.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => signInTo(url));

async function signInTo(url: string): Promise<void> {
  const profile = { url, wallet: '0x00', session: 'a'.repeat(64), expires_at: null };
  const config = JSON.stringify({ current: 'other', profiles: { other: profile } });
  await mkdir(path.join(folder, 'config'), { recursive: true });
  await writeFile(path.join(folder, 'config', 'config.json'), config, { mode: 0o600 });
}

/** A list of the service's accounts, as `svc trust add` saves it. */
async function saveLists(origins: readonly string[]): Promise<void> {
  const services = origins.map((origin) => [
    origin,
    { format: 'svc-anchors/1', origin, sequence: 0, accounts: [], signatures: [] },
  ]);
  const file = path.join(folder, 'config', 'trusted-services.json');
  const saved = JSON.stringify({ services: Object.fromEntries(services) });
  await writeFile(file, saved, { mode: 0o600 });
}

const svc = (args: string[], start = runInProcess) =>
  start('svc', args, { env: { SVC_CONFIG_DIR: `${folder}/config` } });

function http(body: string, head = 'HTTP/1.1 200 OK'): string {
  const length = Buffer.byteLength(body);
  return `${head}\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n${body}`;
}

const id = '01a1fa88-6262-702f-af77-0aaec0d1b17b';

/** A call of each command that asks a service. */
const calls: Record<string, string[]> = {
  login: ['--manual', '--address', `0x${'0'.repeat(40)}`],
  logout: [],
  whoami: [],
  credits: [],
  'account export': [],
  'account delete': ['--yes'],
  'sessions list': [],
  'sessions revoke': [id],
  'tokens list': [],
  'tokens create': ['ci'],
  'tokens revoke': [id, '--yes'],
  audit: [],
  'robots list': [],
  'robots show': [id],
  'robots create': ['arm'],
  'robots update': [id, '--description', ''],
  'robots move': [id, '--no-fleet'],
  'robots rotate-key': [id, '--yes'],
  'robots revoke-key': [id, '--yes'],
  'robots sign-key': [id, '--yes'],
  'robots revoke-signing-key': [id, '--yes'],
  'robots verify': [id],
  'robots export': [id],
  'robots delete': [id, '--yes'],
  'fleets list': [],
  'fleets show': [id],
  'fleets create': ['Hall'],
  'fleets update': [id, '--no-tag'],
  'fleets reorder': [id],
  'fleets delete': [id, '--yes'],
  'tasks list': [],
  'tasks show': [id],
  'tasks watch': [id, '--timeout', '1'],
  telemetry: [id],
  events: [],
  stats: [],
  'webhooks create': ['https://example.org/'],
  'webhooks list': [],
  'webhooks update': [id, '--disable'],
  'webhooks rotate-secret': [id],
  'webhooks delete': [id, '--yes'],
  'webhooks test': [id],
  'webhooks deliveries': [id],
  'webhooks replay': [id],
  'alerts list': [],
  'alerts acknowledge': [id],
  'alerts rules': [],
  'alerts watch': ['credit_low', '--threshold', '5'],
  'alerts unwatch': ['credit_low'],
  chain: [],
  verify: [`0x${'0'.repeat(64)}`],
  'trust add': ['URL', '--yes'],
  'trust refresh': ['URL'],
  bundle: [id],
  doctor: [],
};

/** Those that work without a service. */
const alone = [
  'hash',
  'prove-part',
  'completion',
  'help',
  'trust list',
  'trust show',
  'trust remove',
  'wallet new',
  'webhooks listen',
];

describe('a server that is not the service', () => {
  it('is detected by every command that contacts the service', async () => {
    const commands = (await groupsFor([])).flatMap((group) => group.commands);
    const all = commands.map((spec) => spec.path).filter((name) => !name.startsWith('config '));

    expect([...Object.keys(calls), ...alone].sort()).toEqual(all.sort());
  });

  it.each(Object.keys(calls))(
    'makes svc %s report the service as unreachable, with the remedy',
    async (command) => {
      const given = (calls[command] ?? []).map((word) => (word === 'URL' ? url : word));
      const args = [...command.split(' '), ...given];
      await saveLists(command === 'trust refresh' ? [url] : []);

      for (const body of ['{}', 'null', '{"items":[{"id":7}],"next_cursor":null}', '<html>']) {
        answer = http(body);
        const { exitCode, stdout, stderr } = await svc(args);

        expect([body, exitCode, stdout + stderr]).toEqual([
          body,
          exitCodes.unreachable,
          expect.stringContaining(url),
        ]);
        expect(stderr).not.toContain('    at ');
        // The checks of the doctor are its data; no other command has any.
        if (command !== 'doctor')
          expect([stdout, stderr]).toEqual(['', expect.stringMatching(/^svc: .*\n.+/)]);
      }
    },
  );

  it.each([
    ['breaks off', http('{"chain_id":').replace('content-length: 12', 'content-length: 99')],
    ['is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    [
      'has a chunk without a length',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n',
    ],
    ['speaks another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n'],
    ['says nothing', ''],
  ])('that sends %s is reported as unreachable', async (_, bytes) => {
    answer = bytes;

    const { exitCode, stdout, stderr } = await svc(['chain']);

    expect([exitCode, stdout]).toEqual([exitCodes.unreachable, '']);
    expect(stderr).toMatch(new RegExp(`^svc: .*${url}.*\n.+`));
    expect(stderr).not.toContain('    at ');
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'gets no exit code of its own for the error %s',
    async (code) => {
      answer = http(JSON.stringify({ error: code, message: 'No.' }), 'HTTP/1.1 400 Bad Request');

      expect(await svc(['chain'])).toEqual({ exitCode: 1, stdout: '', stderr: 'svc: No.\n' });
    },
  );
});

describe('an answer without an end', () => {
  /** One answer of blanks, as fast as they are read, of which the reader has to tire first. */
  async function endless(head: string, line = '') {
    let closed = false;
    const server = createServer((socket) => {
      socket.on('error', () => {}).on('close', () => (closed = true));
      socket.once('data', () => {
        const blanks = Buffer.alloc(1 << 20, ' ');
        const more = () => void (socket.write(blanks) && setImmediate(more));
        socket.on('drain', more).write(`HTTP/1.1 200 OK\r\n${head}\r\n${line}`, more);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, isClosed: () => closed };
  }

  it.each([
    ['chain', 'content-type: application/json\r\n', ''],
    ['account export', 'content-type: application/jsonl\r\n', '{"kind":"account","record":{}}\n'],
  ])('ends svc %s after 64 MiB, with the remedy', async (command, head, line) => {
    const { url, isClosed } = await endless(head, line);
    await signInTo(url);

    const { exitCode, stderr } = await svc(command.split(' '));

    expect([exitCode, stderr]).toEqual([
      exitCodes.unreachable,
      expect.stringMatching(/^svc: .* more than 64 MiB in one answer or line\.\n.*proxy/),
    ]);
    await waitFor('the end of the connection', isClosed);
  });

  it('ends a stream whose line has no end', async () => {
    const { url, isClosed } = await endless('content-type: text/event-stream\r\n', 'data: ');
    const client = createClient({ baseUrl: url, fetch: httpFetch });

    await expect(client.changes(new AbortController().signal).next()).rejects.toMatchObject({
      code: 'unexpected_answer',
      message: expect.stringContaining('64 MiB'),
    });
    await waitFor('the end of the connection', isClosed);
  });

  it('is rejected from a node too', async () => {
    const node = await endless('content-type: application/json\r\n');
    const rpc = connectRpc({ url: node.url });
    onTestFinished(() => rpc.close());

    const asked = rpc.reading([{ method: 'eth_chainId', params: [] }]);

    await expect(asked).rejects.toMatchObject({ reason: 'the answer is too large' });
  });
});

describe('an answer that stalls', () => {
  it('is aborted with its own reason', async () => {
    const stalling = createHttpServer((_, response) => response.write('{'));
    stalling.listen(0, '127.0.0.1');
    await once(stalling, 'listening');
    const giveUp = new AbortController();
    const { port } = stalling.address() as AddressInfo;
    const { signal } = giveUp;
    const response = await httpFetch(`http://127.0.0.1:${port}/`, { signal });

    const reader = response.body?.getReader();
    await reader?.read();

    const read = reader?.read();
    giveUp.abort(new DOMException('', 'TimeoutError'));

    await expect(read).rejects.toMatchObject({ name: 'TimeoutError' });
    stalling.close();
    stalling.closeAllConnections();
  });
});

describe('an http port at an https address', () => {
  it.each([
    [
      'svc login',
      (https: string) => ['login', https, '--manual', '--address', `0x${'0'.repeat(40)}`],
    ],
    ['--url', (https: string) => ['chain', '--url', https]],
    ['a profile', () => ['robots', 'list']],
  ])('is reported as such for %s', async (_, words) => {
    answer = http('', 'HTTP/1.1 400 Bad Request');
    const https = url.replace('http:', 'https:');
    await signInTo(https);

    const { exitCode, stderr } = await svc(words(https));

    const { host } = new URL(url);
    expect(exitCode).toBe(exitCodes.unreachable);
    expect(stderr).toBe(
      `svc: The server at ${host} does not speak https. It probably speaks http.\nUse ${url}.\n`,
    );
  });
});
