import { HttpResponse, http } from 'msw';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAnchor } from '../../../src/chain/read-anchor.ts';
import { connectRpc } from '../../../src/chain/rpc.ts';
import type { ChainFacts } from '../../../src/proof/audit-anchor.ts';
import type { Bundle } from '../../../src/proof/bundle.ts';
import type { Hex } from '../../../src/proof/bytes.ts';
import { readSignedTransaction } from '../../../src/proof/signed-transaction.ts';
import type { PublicVerification } from '../../../src/protocol/resources.ts';
import signed from '../../fixtures/signed-bundles.json' with { type: 'json' };
import { type Dashboard, openDashboard } from '../../support/dashboard.ts';
import { forgeries as forgedBundles, single } from '../../support/forged-bundles.ts';
import { type Forger, forgeries, lie, startForger } from '../../support/forged-receipts.ts';
import { answerPage } from '../../support/page-answers.ts';
import { documentOf } from '../../support/signed-verdict.ts';

let dashboard: Dashboard;
let page: Page;
let forger: Forger;
/** What the page reads from the service, which says of everything that it is verified, and from the chain. */
let answers: { stated: PublicVerification; facts: ChainFacts };

beforeAll(async () => {
  [dashboard, forger] = await Promise.all([openDashboard(), startForger()]);
  ({ page } = await dashboard.open('/verify', { wallet: null }));
  await answerPage(
    page,
    http.get('*/api/v1/verify/:proof_hash', ({ params }) =>
      HttpResponse.json({ ...answers.stated, ...params }),
    ),
    http.get('*/api/v1/transactions/:hash', () => HttpResponse.json(answers.facts)),
  );
});
afterAll(async () => {
  await Promise.all([dashboard?.stop(), forger?.close()]);
});

/** Opens the page again, without what it read before. */
const open = () => page.goto(`${dashboard.server.url}/verify`);

const choose = (name: string, content: string | Uint8Array) =>
  page
    .locator('input[type=file]')
    .setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(content) });

/** The titles of what the page says about a document, and how many of its checks fail. */
async function given(content: string | Uint8Array) {
  const titles = page.locator('.verdict strong, [role=alert] .mantine-Alert-title');
  await choose('before.json', '');
  await titles.filter({ hasText: 'before.json' }).waitFor();
  await choose('given.json', content);
  await titles.filter({ hasNotText: 'before.json' }).first().waitFor();
  const failed = await page.locator('[data-ok=false]').count();
  return { titles: await titles.allTextContents(), failed };
}

/** The answers of a service and a node that confirm whatever a bundle states, at any block. */
function answersAbout(bundle: Bundle) {
  const { tx_hash: hash, from, tx_index, block_number, anchored_at } = bundle.anchor;
  const { input } = readSignedTransaction(bundle.anchor.raw_tx);
  const receipt = {
    ...{
      format: 'svc-receipt/1' as const,
      status: 'verified' as const,
      claim_hash: bundle.anchor.block_hash,
    },
    ...{
      task_id: bundle.task.id,
      robot_id: bundle.task.robot_id,
      explorer_url: 'http://x.example',
    },
    ...{ proof_hash: bundle.proof_hash, chain_id: bundle.chain_id, inclusion: null },
    ...{ tx_hash: hash, block_number, anchored_at, finality: 'finalized' as const },
  };
  return (block_hash: Hex) => ({
    stated: lie(receipt),
    facts: {
      chain_id: bundle.chain_id,
      tx: { hash, from, to: from, value: '0', input },
      receipt: { status: 'success' as const, block_number, block_hash, tx_index },
      canonical_block: { hash: block_hash, number: block_number, timestamp: anchored_at },
    },
  });
}

describe('/verify, while the service lies', () => {
  it('accepts no forged bundle', async () => {
    const { bundle, blockHash } = single;
    const at = answersAbout(bundle);
    answers = at(blockHash);
    expect(await given(JSON.stringify(bundle))).toEqual({ titles: ['Verified'], failed: 0 });

    await open();
    for (const forgery of forgedBundles) {
      answers = at(forgery.blockHash);
      const { titles, failed } = await given(forgery.content);

      // An array that holds a bundle is evidence.
      const isRefused = forgery.exitCode === 2 && forgery.name !== 'an array';
      const title = isRefused ? 'given.json cannot be checked' : 'Not verified';
      expect([forgery.name, titles]).toEqual([forgery.name, [title]]);
      if (forgery.failed !== null) expect(failed, forgery.name).toBeGreaterThan(0);
    }
  });

  it('accepts no forged signature', async () => {
    const found = async (vector: (typeof signed.good)[number] | (typeof signed.bad)[number]) => {
      const bundle = documentOf(vector) as unknown as Bundle;
      answers = answersAbout(bundle)(bundle.anchor.block_hash);
      return [vector.name, ...(await given(JSON.stringify(bundle))).titles];
    };
    const [honest] = signed.good;
    expect(honest && (await found(honest))).toEqual([honest?.name, 'Verified']);
    await page.getByText('outcome succeeded').waitFor();
    await page.getByText('Not pinned').waitFor();

    await open();
    // The page has no fields for an owner or a key.
    for (const vector of signed.bad.filter(({ pins }) => Object.keys(pins).length === 0)) {
      expect(await found(vector)).toEqual([
        vector.name,
        expect.stringMatching(/^(Not verified|given.json cannot be checked)$/),
      ]);
    }
  });

  it('accepts no forged receipt', async () => {
    for (const [name, make] of forgeries) {
      const { forged, evidence, rpcUrl = forger.chain.url } = await make(forger);
      const rpc = connectRpc({ url: rpcUrl });
      const { facts } = await readAnchor(rpc.reading, forged.tx_hash as Hex);
      await rpc.close();
      answers = { stated: lie(forged), facts };
      await open();

      const { titles } = await given(JSON.stringify(evidence ?? forged));

      // The document does not name the sender: the list of the service does.
      const isOther = name === 'the right payload by another sender';
      expect([name, titles]).toEqual([
        name,
        [isOther ? 'Anchored by an unknown account' : 'Not verified'],
      ]);
    }
  });
});
