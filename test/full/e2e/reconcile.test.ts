import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnchorKey, loadAnchorKey } from '../../../src/chain/keys/anchor-key.ts';
import type { Hex } from '../../../src/proof/bytes.ts';
import { encodePayload } from '../../../src/proof/payload.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { scanAnchors } from '../../support/chain-scan.ts';
import { anchorOnce, completeTask, PATIENCE_MS, receiptOf } from '../../support/one-robot.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { killServers, robotClient, spawnServer } from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

const [{ privateKey }] = anvilAccounts;
const DEARER = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n };
const ANCHOR_OF_ANOTHER = encodePayload({
  kind: 'batch',
  root: `0x${'11'.repeat(32)}`,
  leaf_count: 2,
});

let dataDir: string;
let chain: TestChain;
let key: AnchorKey;

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-reconcile-'));
  chain = await startTestChain({ blockTime: 0.1 });
  key = await loadAnchorKey({ privateKey });
});
afterEach(async () => {
  killServers();
  await chain.close();
  await rm(dataDir, { recursive: true });
});

const command = (...args: string[]) =>
  runInProcess('svc-server', args, {
    env: {
      SVC_DATA_DIR: dataDir,
      SVC_CHAIN_RPC_URL: chain.url,
      SVC_ANCHOR_PRIVATE_KEY: privateKey,
    },
  });
const start = (at?: string) =>
  spawnServer({
    dataDir,
    rpcUrl: chain.url,
    environment: { SVC_ANCHOR_TIMEOUT_MS: '200' },
    ...(at === undefined ? {} : { crash: { at, count: 1 } }),
  });
const degraded = async (url: string) =>
  ((await (await fetch(`${url}/readyz`)).json()) as { degraded: string[] }).degraded;

/** A server that has anchored once. */
async function startUsed() {
  const server = await start();
  return { server, apiKey: await anchorOnce(server) };
}

/** With the server's key, and not by the server. */
async function sendElsewhere(nonce: number, payload: Hex): Promise<Hex> {
  const { rawTx, txHash } = await key.signTransaction({
    chainId: 31_337,
    nonce,
    payload,
    gas: 100_000n,
    ...DEARER,
  });
  await chain.rpc('eth_sendRawTransaction', [rawTx]);
  return txHash;
}

async function passBlocks(count: number): Promise<void> {
  const head = async () => Number(await chain.rpc<Hex>('eth_blockNumber'));
  const from = await head();
  await waitFor(`${count} blocks`, async () => (await head()) >= from + count, PATIENCE_MS);
}

describe('svc-server reconcile, after foreign transactions with the key', () => {
  describe.each([
    ['a transaction', '0x', () => ['--yes']],
    ['an anchor', ANCHOR_OF_ANOTHER, (txHash: Hex) => ['--accept-anchor', txHash]],
  ] as const)('continues after %s', (_, payload, accept) => {
    it('once it is accepted, and anchoring resumes', {
      timeout: 4 * PATIENCE_MS,
    }, async () => {
      const { server, apiKey } = await startUsed();
      const txHash = await sendElsewhere(1, payload);
      await waitFor(
        'the conflict',
        async () => (await degraded(server.url)).includes('nonce_conflict'),
        PATIENCE_MS,
      );
      const id = await completeTask(robotClient(server.url, apiKey));
      await passBlocks(3);

      const shown = await command('reconcile');
      const accepted = await command('reconcile', ...accept(txHash));

      expect([shown.exitCode, shown.stdout]).toEqual([1, expect.stringContaining(txHash)]);
      expect(accepted.exitCode).toBe(0);
      expect(accepted.stdout).toContain('anchoring is not paused. Restart a running server');
      await server.kill('SIGTERM');
      const again = await start();
      const receipt = await receiptOf(robotClient(again.url, apiKey), id);
      const used = (await scanAnchors(chain.url)).find(({ txHash }) => txHash === receipt.tx_hash);
      expect(used?.nonce).toBe(2);
      expect((await command('check')).exitCode).toBe(0);
    });
  });
});

describe('svc-server anchors retire, after a restore', () => {
  const retire = () => {
    const address = anvilAccounts[0].address;
    const next = { SVC_DATA_DIR: dataDir, SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[1].privateKey };
    const env = { ...next, SVC_CHAIN_RPC_URL: chain.url };
    return runInProcess('svc-server', ['anchors', 'retire', address, '--json'], { env });
  };

  it('waits for reconcile, and retires no account before an accepted anchor', {
    timeout: 4 * PATIENCE_MS,
  }, async () => {
    const { server } = await startUsed();
    await passBlocks(4);
    await server.kill('SIGTERM');
    // An anchor that the database lost, because it was restored.
    const txHash = await sendElsewhere(1, ANCHOR_OF_ANOTHER);
    await passBlocks(4);
    const block = (await scanAnchors(chain.url)).find((one) => one.txHash === txHash);
    expect((await command('hold')).exitCode).toBe(0);

    const held = await retire();
    const list = path.join(dataDir, 'accepted');
    await writeFile(list, `${txHash}\n\n`);
    const accepted = await command('reconcile', '--accept-anchors-in', list);
    const retired = await retire();

    expect([held.exitCode, JSON.parse(held.stderr)]).toEqual([
      1,
      expect.objectContaining({ error: 'restored', hint: expect.stringContaining('reconcile') }),
    ]);
    expect(accepted.exitCode).toBe(0);
    const [{ last_block }] = JSON.parse(retired.stdout).items;
    expect(Number(last_block)).toBeGreaterThanOrEqual(Number(block?.blockNumber));
  });
});

describe('a server killed while it adopts an anchor that its database does not have', () => {
  for (const at of ['adoptVariant:before', 'adoptVariant:after'] as const) {
    it(`at ${at} anchors nothing twice`, {
      timeout: 4 * PATIENCE_MS,
    }, async () => {
      const { server, apiKey } = await startUsed();
      await chain.rpc('evm_setIntervalMining', [0]);
      const id = await completeTask(robotClient(server.url, apiKey));
      const { hash, input } = await waitFor('its transaction', async () => {
        const { pending } = await chain.rpc<{
          pending: Record<string, Record<string, { hash: Hex; input: Hex }>>;
        }>('txpool_content');
        return Object.values(pending).flatMap((byNonce) => Object.values(byNonce))[0];
      });
      await server.kill('SIGKILL');
      // What the server would have sent after a backup that it was then put back to.
      await chain.rpc('anvil_dropTransaction', [hash]);
      const txHash = await sendElsewhere(1, input);
      await chain.rpc('evm_setIntervalMining', [1]);

      const crashing = await start(at);
      await crashing.ended;
      const again = await start();
      const receipt = await receiptOf(robotClient(again.url, apiKey), id);

      expect(crashing.killedAt()).toBe(at);
      expect(receipt.tx_hash).toBe(txHash);
      expect((await scanAnchors(chain.url)).map(({ nonce }) => nonce)).toEqual([0, 1]);
      await again.kill('SIGTERM');
      expect((await command('check')).exitCode).toBe(0);
    });
  }
});
