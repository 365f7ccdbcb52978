import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { anvilAccounts, callRpc } from '../../support/anvil.ts';
import {
  type Dashboard,
  type DashboardPage,
  startDashboard,
  waitAhead,
} from '../../support/dashboard.ts';
import { waitFor } from '../../support/wait-for.ts';

const anchorer = anvilAccounts[0].address;
const FUNDS = '0x21e19e0c9bab2400000';
/** Gas of a block: less than any transaction needs, and what it was. */
const [TOO_LITTLE_GAS, GAS] = ['0x5000', '0x1c9c380'];

let dashboard: Dashboard;
let opened: DashboardPage;
let owner: Client;
let robot: Client;
let blocks: NodeJS.Timeout | undefined;

/** The chain of the service stands still unless a test lets it go on. */
beforeAll(async () => {
  dashboard = await startDashboard();
  opened = await dashboard.openSignedIn('/account');
  owner = await dashboard.clientOf(opened);
  const { body } = await owner.call('createRobot', { body: { name: 'arm-1' } });
  robot = dashboard.robotClient(String(body.api_key));
  await complete('Warm up');
  await stopBlocks();
});
afterAll(async () => {
  clearInterval(blocks);
  await dashboard?.stop();
});

const rpc = (method: string, params: readonly unknown[] = []) =>
  callRpc(dashboard.server.rpc_url, method, params);
const mine = () => rpc('evm_mine');
/** Ten a second; anvil's own interval is a second at least. */
const startBlocks = () => {
  blocks = setInterval(() => void mine().catch(() => {}), 100);
};
const stopBlocks = async () => {
  clearInterval(blocks);
  await rpc('evm_setIntervalMining', [0]);
};

/** Claims a task and hands its proof in; answers once the service has, which may be before the anchor. */
async function complete(title: string): Promise<string> {
  const id = await claim(title);
  await handIn(id);
  return id;
}

async function claim(title: string): Promise<string> {
  return (await robot.call('createTask', { body: { title } })).body.task.id;
}

/** Settles with the anchor, or with what keeps it waiting. */
const handIn = (id: string) =>
  robot
    .call('completeTask', { params: { id }, body: { proof: { of: id } } })
    .then(({ status }) => status)
    .catch((error: { code: string }) => error.code);

async function showTask(id: string): Promise<Page> {
  await opened.page.goto(`${dashboard.server.url}/tasks/${id}`);
  return opened.page;
}

const stage = (page: Page, name: string) =>
  waitAhead(
    page,
    page.getByRole('listitem').and(page.locator('[aria-current=step]')).getByText(name),
  );

const anchored = (id: string) =>
  waitFor('the anchor', async () => {
    const { body } = await owner.call('getTask', { params: { id } });
    return body.verification;
  });

// One chain, whose blocks the tests mine in turn.
describe('the page of a task', { shuffle: false }, () => {
  describe('the state of an anchor', () => {
    it('is shown from submitted through included and safe to finalized', async () => {
      const id = await claim('Weld the seam');
      const page = await showTask(id);
      await page.getByText('The robot has not submitted a proof yet').waitFor();

      const answer = handIn(id);
      await stage(page, 'submitted');
      await mine();
      await stage(page, 'included');
      await page.getByText('A chain reorganization could still remove it').waitFor();
      await mine();
      await stage(page, 'safe');
      await page.getByText('it is not final yet').waitFor();
      await mine();
      await stage(page, 'finalized');

      expect(await answer).toBe(200);
    });

    it('fails no check of the public page before it is in a block', async () => {
      const id = await claim('Grind the edge');
      const page = await showTask(id);
      const answer = handIn(id);
      await stage(page, 'submitted');
      const { anchor } = (await owner.call('getTask', { params: { id } })).body;

      await page.goto(`${dashboard.server.url}/verify/${anchor?.proof_hash}`);

      await page.getByText('Not verified yet').waitFor();
      expect(await page.locator('[data-ok=false]').count()).toBe(0);
      await mine();
      await answer;
    });

    it('shows a reorganization, here and on the public page, and then the new block', async () => {
      const id = await claim('Weld the second seam');
      const page = await showTask(id);
      const answer = handIn(id);
      await stage(page, 'submitted');
      await mine();
      await stage(page, 'included');
      await answer;
      const { proof_hash } = await anchored(id);

      await rpc('anvil_reorg', [1, []]);

      await waitAhead(
        page,
        page.getByRole('status').getByText('A chain reorganization removed the block'),
      );
      await page.getByRole('button', { name: 'Download receipt' }).waitFor();
      const visitor = await dashboard.open(`/verify/${proof_hash}`, { wallet: null });
      await visitor.page.getByText('Not verified now').waitFor();

      startBlocks();
      await stage(page, 'finalized');
      await stopBlocks();
      await waitAhead(visitor.page, visitor.page.getByText('Verified', { exact: true }));
    });

    it('shows that the chain refused it, and accepts the proof again', async () => {
      const id = await claim('Weld the third seam');
      const page = await showTask(id);
      await rpc('anvil_setBalance', [anchorer, '0x1']);
      const first = handIn(id);
      await stage(page, 'queued');

      await rpc('evm_setBlockGasLimit', [TOO_LITTLE_GAS]);
      await rpc('anvil_setBalance', [anchorer, FUNDS]);
      startBlocks();
      await waitAhead(page, page.getByText('The chain refused the anchor before it was signed'));
      await first;
      await rpc('evm_setBlockGasLimit', [GAS]);
      await mine();
      await handIn(id);
      await stage(page, 'finalized');
      await stopBlocks();
    });
  });

  describe('proofs that wait together', () => {
    let ids: string[];
    let page: Page;
    beforeAll(async () => {
      ids = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((part) => claim(`Count part ${part}`)));
      page = await showTask(ids[1] ?? '');
      await rpc('anvil_setBalance', [anchorer, '0x1']);
      for (const id of ids) handIn(id);
    });

    it('are shown as queued', async () => {
      await stage(page, 'queued');
      await page.getByText('The proof is stored').waitFor();
    });

    it('are anchored in one transaction, whose receipt holds the path to its root', async () => {
      await rpc('anvil_setBalance', [anchorer, FUNDS]);
      startBlocks();
      const { inclusion } = await anchored(ids[1] ?? '');
      await waitAhead(page, page.getByRole('button', { name: 'Download receipt' }));

      await page.getByText('Hashes, root and path').click();
      const place = `leaf ${(inclusion?.leaf_index ?? 0) + 1} of ${inclusion?.leaf_count}`;
      expect(inclusion?.leaf_count).toBeGreaterThanOrEqual(2);
      await page.getByText(`${place} under one root`).waitFor();
      const path = page.getByRole('list', { name: 'Path to the root' }).locator('code');
      expect(
        await path.evaluateAll((codes) => codes.map((code) => code.getAttribute('title'))),
      ).toEqual(inclusion?.path);

      await page.getByRole('link', { name: 'Open in the explorer' }).click();
      await page.getByText(`${inclusion?.leaf_count} proofs under one root`).waitFor();
      await page.goBack();
      await page.getByRole('link', { name: 'Public page' }).click();
      await page.getByText('Verified', { exact: true }).waitFor();
      await page.getByText('Details', { exact: true }).click();
      await page.getByText(place).waitFor();
    });
  });
});
