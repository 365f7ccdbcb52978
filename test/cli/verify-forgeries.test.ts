import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import type { PublicVerification, Verification } from '../../src/protocol/resources.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';
import { run } from '../support/programs.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { runInProcess } from '../support/run-in-process.ts';

const [service, forger] = [anvilAccounts[0].address, anvilAccounts[1].address] as const;
const uuid = (n: number) => `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const evidence = [0, 1, 2].map((picked) => ({ picked }));
const contents = evidence.map((proof, i) => ({
  proof_hash: hashProof(proof),
  task_id: uuid(i),
  robot_id: uuid(10 + i),
  claim_hash: hashClaim({ created_at: '2026-11-21T00:00:00.000Z', title: `Task ${i}` }),
}));
const batch = commitLeaves(contents.map((c) => ({ proof_hash: c.proof_hash, leaf: leafHash(c) })));
const inclusions = batch.inclusions.map((one) => one && { ...one, path: [...one.path] });
const [content, otherContent] = contents as [(typeof contents)[0], (typeof contents)[0]];
const singleOf = ({ proof_hash, leaf }: { proof_hash: Hex; leaf: Hex }) =>
  encodePayload({ kind: 'single', proof_hash, leaf });
const payloads = contents.map((c) => singleOf({ proof_hash: c.proof_hash, leaf: leafHash(c) }));

/** Where a transaction is, as a receipt states it. */
type Place = Pick<Verification, 'tx_hash' | 'block_number' | 'anchored_at'>;

let folder: string;
let chain: TestChain;
let otherChain: TestChain;
let single: Verification;
let inBatch: Verification;
let liar: Server;
/** What the liar states; it says of everything that it is verified. */
let stated: Verification;
let asked: number;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-forgeries-'));
  [chain, otherChain] = await Promise.all([startTestChain(), startTestChain({ chainId: 31338 })]);
  single = receipt(content, await send(chain, payloads[0] as Hex), null);
  inBatch = receipt(
    content,
    await send(chain, encodePayload(batch.payload)),
    inclusions[0] ?? null,
  );
  liar = createServer((_, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(lie(stated)));
  });
  liar.listen(0, '127.0.0.1');
  await once(liar, 'listening');
});

afterAll(async () => {
  liar.close();
  await Promise.all([chain.close(), otherChain.close()]);
  await rm(folder, { recursive: true, force: true });
});

async function send(to: TestChain, data: Hex, from: string = service): Promise<Place> {
  const tx_hash = await to.rpc<string>('eth_sendTransaction', [
    { from, to: from, data, gas: '0x186a0' },
  ]);
  await to.mine();
  const block = await to.rpc<{ number: string; timestamp: string }>('eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  return {
    tx_hash,
    block_number: String(Number(block.number)),
    anchored_at: new Date(Number(block.timestamp) * 1000).toISOString(),
  };
}

function receipt(
  about: (typeof contents)[0],
  place: Place,
  inclusion: Verification['inclusion'],
): Verification {
  return {
    format: 'svc-receipt/1',
    ...about,
    ...place,
    status: 'verified',
    explorer_url: 'http://explorer.example',
    chain_id: 31337,
    inclusion,
    finality: 'included',
  };
}

function lie(about: Verification): PublicVerification {
  const { task_id: id, robot_id, claim_hash, proof_hash, chain_id, inclusion } = about;
  const { tx_hash, block_number, anchored_at, explorer_url } = about;
  return {
    verified: true,
    proof_hash,
    task: { id, title: 'Task', robot: 'arm', status: 'verified', robot_id, claim_hash },
    anchor: {
      tx_hash,
      block_number,
      anchored_at,
      explorer_url,
      on_chain_payload_found: true,
      chain_id,
      from: service.toLowerCase(),
      inclusion,
      confirmations: '99',
      finality: 'finalized',
    },
    occurrences: 1,
    checked_at: new Date().toISOString(),
  };
}

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

const verify = (subject: string, ...args: string[]) => verifyBy(runInProcess, subject, ...args);

const liarUrl = () => `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;

interface Forgery {
  forged: Verification;
  args?: string[];
  rpcUrl?: string;
}

const swappedRoot = `0x${'ab'.repeat(32)}`;
const inclusionWith = (change: object): Verification => ({
  ...inBatch,
  inclusion: { ...(inBatch.inclusion as NonNullable<Verification['inclusion']>), ...change },
});

/** Each with the checks that must fail, and no others. */
const forgeries: [name: string, make: () => Promise<Forgery>, failed: string[]][] = [
  [
    'other evidence',
    async () => {
      const file = path.join(folder, 'other-evidence.json');
      await writeFile(file, JSON.stringify(evidence[1]));
      return { forged: single, args: ['--proof', file] };
    },
    ['evidence'],
  ],
  [
    'the hash of other evidence',
    async () => ({ forged: { ...single, proof_hash: otherContent.proof_hash } }),
    ['proof_hash', 'leaf'],
  ],
  ['another task', async () => ({ forged: { ...single, task_id: uuid(1) } }), ['leaf']],
  ['another robot', async () => ({ forged: { ...single, robot_id: uuid(11) } }), ['leaf']],
  [
    'another task in a batch',
    async () => ({ forged: { ...inBatch, task_id: uuid(1) } }),
    ['inclusion_path'],
  ],
  [
    'another transaction',
    async () => ({ forged: { ...single, ...(await send(chain, payloads[1] as Hex)) } }),
    ['proof_hash', 'leaf'],
  ],
  [
    'a reverted transaction',
    async () => {
      await chain.rpc('anvil_setCode', [service, '0x60006000fd']);
      const place = await send(chain, payloads[0] as Hex);
      await chain.rpc('anvil_setCode', [service, '0x']);
      return { forged: { ...single, ...place } };
    },
    ['status'],
  ],
  [
    'the right payload by another sender',
    async () => ({
      forged: { ...single, ...(await send(chain, payloads[0] as Hex, forger)) },
    }),
    ['sender'],
  ],
  [
    'the right transaction on another chain',
    async () => ({
      forged: { ...single, ...(await send(otherChain, payloads[0] as Hex)) },
      rpcUrl: otherChain.url,
    }),
    ['chain'],
  ],
  [
    'the path of another leaf',
    async () => ({
      forged: { ...inBatch, inclusion: inclusions[1] ?? null },
    }),
    ['inclusion_path'],
  ],
  [
    'a truncated path',
    async () => ({ forged: inclusionWith({ path: inBatch.inclusion?.path.slice(0, -1) }) }),
    ['inclusion_path'],
  ],
  [
    'another leaf count',
    async () => ({ forged: inclusionWith({ leaf_count: 4 }) }),
    ['leaf_count'],
  ],
  ['another root', async () => ({ forged: inclusionWith({ root: swappedRoot }) }), ['root']],
  [
    'another block time',
    async () => ({ forged: { ...single, anchored_at: '2020-01-01T00:00:00.000Z' } }),
    ['anchored_at'],
  ],
];

describe('svc verify --rpc-url, while the service lies', () => {
  it.each(forgeries)('refuses %s', async (_, make, failed) => {
    const { forged, args = [], rpcUrl = chain.url } = await make();
    const file = path.join(folder, 'receipt.json');
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

  it.each([
    ['anchored alone', () => single],
    ['in a batch', () => inBatch],
  ])('proves what is true, %s', async (_, make) => {
    stated = make();

    const found = await verifyBy(run, stated.proof_hash, '--rpc-url', chain.url);

    expect(found).toEqual({ exitCode: 0, stderr: '', failed: [] });
  });

  it('holds the sender that the service names against the chain, also when none is pinned', async () => {
    stated = { ...single, ...(await send(chain, payloads[0] as Hex, forger)) };

    const { exitCode, failed } = await verify(stated.proof_hash, '--rpc-url', chain.url);

    expect([exitCode, failed]).toEqual([3, ['sender']]);
  });

  it('refuses what one of two nodes lies about', async () => {
    stated = { ...single, anchored_at: '2020-01-01T00:00:00.000Z' };
    const proxy = await startRpcProxy(chain.url);
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
    const both = await verify(stated.proof_hash, '--rpc-url', proxy.url, '--rpc-url', chain.url);

    await proxy.close();
    expect(lying.exitCode).toBe(0);
    expect([both.exitCode, both.failed]).toEqual([3, ['anchored_at', 'rpc_agreement']]);
  });
});
