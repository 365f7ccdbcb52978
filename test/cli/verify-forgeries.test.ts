import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import {
  type Forger,
  forgeries,
  lie,
  payloads,
  send,
  service,
  startForger,
  stranger,
} from '../support/forged-receipts.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { runInProcess } from '../support/run-in-process.ts';

let folder: string;
let forger: Forger;
let liar: Server;
/** What the liar states; it says of everything that it is verified. */
let stated: Verification;
let from: string = service;
let asked: number;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-forgeries-'));
  forger = await startForger();
  liar = createServer((_, response) => {
    asked += 1;
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

async function verify(subject: string, ...args: string[]) {
  const words = ['verify', subject, '--json', ...args];
  const { exitCode, stdout, stderr } = await runInProcess('svc', words, {
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
  it.each(forgeries)('refuses %s', async (_, make, failed) => {
    const { forged, evidence, rpcUrl = forger.chain.url } = await make(forger);
    const file = path.join(folder, 'receipt.json');
    const other = path.join(folder, 'other-evidence.json');
    await writeFile(other, JSON.stringify(evidence ?? null));
    const args = evidence === undefined ? [] : ['--proof', other];
    await writeFile(file, JSON.stringify(forged));
    stated = forged;
    asked = 0;

    const held = ['--anchor-address', service, ...args, '--rpc-url', rpcUrl];
    const byHash = await verify(forged.proof_hash, ...held);
    const askedForHash = asked;
    const byReceipt = await verify(file, ...held);
    const believed = await verify(forged.proof_hash);

    expect(byHash).toEqual({ exitCode: 3, stderr: '', failed });
    expect(byReceipt).toEqual({ exitCode: 3, stderr: '', failed });
    expect(believed).toEqual({ exitCode: 0, stderr: '', failed: [] });
    // A receipt needs no service beside the chain; the last hash also reads the list of accounts.
    expect([askedForHash, asked]).toEqual([1, 3]);
  });

  it('compares the sender that the service names with the chain, even if none is pinned', async () => {
    const place = await send(forger.chain, payloads[0] as Hex, stranger);
    stated = { ...forger.single, ...place };

    const { exitCode, failed } = await verify(stated.proof_hash, '--rpc-url', forger.chain.url);

    expect([exitCode, failed]).toEqual([3, ['sender']]);
  });

  it('does not print a sender that is not an address', async () => {
    stated = forger.single;
    from = 'Certified by everyone';

    const { exitCode, stderr } = await verify(stated.proof_hash);

    from = service;
    expect(exitCode).toBe(7);
    expect(stderr).not.toContain('Certified');
  });

  it('refuses a receipt if one of two nodes contradicts it', async () => {
    stated = { ...forger.single, anchored_at: '2020-01-01T00:00:00.000Z' };
    const proxy = await startRpcProxy(forger.chain.url);
    proxy.handle(async ({ calls, forward, answer }) => {
      const answers = await forward(calls);
      const timestamp = '0x5e0be100';
      answer(
        answers.map((one, i) =>
          calls[i]?.method === 'eth_getBlockByNumber' && 'result' in one
            ? { result: { ...(one.result as object), timestamp } }
            : one,
        ),
      );
    });

    const lying = await verify(stated.proof_hash, '--rpc-url', proxy.url);
    const both = await verify(
      stated.proof_hash,
      '--rpc-url',
      proxy.url,
      '--rpc-url',
      forger.chain.url,
    );

    await proxy.close();
    expect(lying.exitCode).toBe(0);
    expect([both.exitCode, both.failed]).toEqual([3, ['anchored_at', 'rpc_agreement']]);
  });
});
