import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { scanAnchors } from '../../support/chain-scan.ts';
import { anchorOnce, PATIENCE_MS, receiptOf } from '../../support/one-robot.ts';
import { killServers, robotClient, spawnServer } from '../../support/server-process.ts';
import { runInTerminal } from '../../support/terminal.ts';
import { waitFor } from '../../support/wait-for.ts';

const [{ address }] = anvilAccounts;

let dataDir: string;
let chain: TestChain;

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-underfunded-'));
  chain = await startTestChain({ blockTime: 0.1 });
});
afterEach(async () => {
  killServers();
  await chain.close();
  await rm(dataDir, { recursive: true });
});

const setBalance = (wei: bigint) =>
  chain.rpc('anvil_setBalance', [address, `0x${wei.toString(16)}`]);

describe('a server whose anchoring account runs out of funds', () => {
  it(
    'reports it, keeps accepted proofs across a restart, and anchors them after a top-up by itself',
    async () => {
      const environment = { SVC_ANCHOR_TIMEOUT_MS: '200' };
      const start = () => spawnServer({ dataDir, rpcUrl: chain.url, environment });
      const first = await start();
      const read = async (url: string, page: string) => (await fetch(`${url}${page}`)).text();
      const apiKey = await anchorOnce(first);
      const robotAt = (url: string) => robotClient(url, apiKey);
      const claim = await robotAt(first.url).call('createTask', { body: { title: 'Sort' } });
      const { id } = claim.body.task;
      await setBalance(1n);
      await waitFor(
        'the metric',
        async () =>
          (await read(first.url, '/metrics')).includes('svc_degraded{reason="underfunded"} 1'),
        PATIENCE_MS,
      );

      const completion = { params: { id }, body: { proof: { id } } };
      const queued = await robotAt(first.url).call('completeTask', completion);
      expect(queued.body).toMatchObject({ error: 'anchor_queued', tx_hash: null });
      expect(await read(first.url, '/readyz')).toContain('underfunded');
      expect(await read(first.url, '/metrics')).toContain('svc_anchor_queue_proofs 1');
      const ready = JSON.parse(await read(first.url, '/readyz'));
      const digits = expect.stringMatching(/^[1-9]\d+$/);
      expect(ready.underfunded).toEqual([{ address, balance_wei: '1', needed_wei: digits }]);
      const env = { NO_COLOR: '1', SVC_CONFIG_DIR: dataDir };
      const { screen } = await runInTerminal(['doctor', '--url', first.url], { env });
      expect(screen).toContain('⚠ degraded underfunded: anchors wait.');
      expect(screen).toContain(`The balance of ${address} is 0.000000000000000001 ETH`);
      await first.kill('SIGKILL');
      const second = await start();
      expect(await read(second.url, '/readyz')).toContain('underfunded');
      await setBalance(10n ** 18n);
      const receipt = await receiptOf(robotAt(second.url), id);

      const anchors = await scanAnchors(chain.url);
      expect(anchors).toHaveLength(2);
      expect(anchors[1]?.txHash).toBe(receipt.tx_hash);
      await waitFor(
        'no degradation',
        async () => !(await read(second.url, '/readyz')).includes('underfunded'),
        PATIENCE_MS,
      );
    },
    4 * PATIENCE_MS,
  );
});
