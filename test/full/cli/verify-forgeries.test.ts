import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Verification } from '../../../src/protocol/resources.ts';
import { type Forger, lie, service, startForger } from '../../support/forged-receipts.ts';
import { run } from '../../support/programs.ts';

let folder: string;
let forger: Forger;
let liar: Server;
/** What the liar states; it says of everything that it is verified. */
let stated: Verification;
const from: string = service;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-forgeries-'));
  forger = await startForger();
  liar = createServer((_, response) => {
    const said = lie(stated);
    const answer = { ...said, anchor: { ...said.anchor, from } };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  liar.listen(0, '127.0.0.1');
  await once(liar, 'listening');
});

afterAll(async () => {
  liar.close();
  await forger.close();
  await rm(folder, { recursive: true, force: true });
});

async function verifyBy(start: typeof run, subject: string, ...args: string[]) {
  const { exitCode, stdout, stderr } = await start('svc', ['verify', subject, '--json', ...args], {
    env: { SVC_URL: liarUrl(), SVC_CONFIG_DIR: folder },
  });
  const { checks = [] } = stdout === '' ? {} : JSON.parse(stdout);
  const failed = (checks as { name: string; status: string }[])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name);
  return { exitCode, stderr, failed };
}

const liarUrl = () => `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;

describe('svc verify --rpc-url, while the service lies', () => {
  it.each([
    ['anchored alone', () => forger.single],
    ['in a batch', () => forger.inBatch],
  ])('verifies a true receipt, %s', async (_, make) => {
    stated = make();

    const found = await verifyBy(run, stated.proof_hash, '--rpc-url', forger.chain.url);

    expect(found).toEqual({ exitCode: 0, stderr: '', failed: [] });
  });
});
