import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';

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
beforeEach(async () => {
  const profile = { url, wallet: '0x00', session: 'a'.repeat(64), expires_at: null };
  const config = JSON.stringify({ current: 'other', profiles: { other: profile } });
  await mkdir(path.join(folder, 'config'), { recursive: true });
  await writeFile(path.join(folder, 'config', 'config.json'), config, { mode: 0o600 });
});

const svc = (args: string[], start = runInProcess) =>
  start('svc', args, { env: { SVC_CONFIG_DIR: `${folder}/config` } });

function http(body: string, head = 'HTTP/1.1 200 OK'): string {
  const length = Buffer.byteLength(body);
  return `${head}\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n${body}`;
}

describe('a server that is not the service', () => {
  it('is reported with the expected protocol', async () => {
    answer = http('{"items":[{"id":7}],"next_cursor":null}');

    // The bundle has schemas of its own.
    const { stderr } = await svc(['tasks', 'list'], run);

    expect(stderr).toBe(
      `svc: Unexpected answer from ${url} to GET /api/v1/tasks: an item of items must have title.\n` +
        'Check the address with svc config list and the versions with svc doctor.\n',
    );
  });
});
