import { HttpResponse, http } from 'msw';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Dashboard,
  type DashboardPage,
  openDashboard,
  waitAhead,
} from '../../support/dashboard.ts';
import { arrangeScene, type Scene } from '../../support/dashboard-scene.ts';
import { answerOf, answerPage } from '../../support/page-answers.ts';
import { waitFor } from '../../support/wait-for.ts';

let dashboard: Dashboard;
let owner: DashboardPage;
let visitor: DashboardPage;
let scene: Scene;

beforeAll(async () => {
  dashboard = await openDashboard();
  owner = await dashboard.openSignedIn('/account');
  visitor = await dashboard.open('/verify', { wallet: null });
  const client = await dashboard.clientOf(owner);
  scene = await arrangeScene(dashboard, client);
  await waitFor('the final anchor', async () => {
    const { body } = await client.call('getTask', { params: { id: scene.verified.id } });
    return body.anchor?.state === 'finalized';
  });
});
afterAll(() => dashboard?.stop());

const show = async (page: Page, path: string) => {
  await page.goto(dashboard.server.url + path);
};
const proofPath = () => `/verify/${scene.verified.proofHash}?task_id=${scene.verified.id}`;
const sentence =
  /The evidence with this hash has not changed since \d+ \w+ \d{4}, \d\d:\d\d UTC \(block time\)\. Anchored by 0xf39f…2266, the published account of 127\.0\.0\.1:\d+\./;

describe('the first page of a visitor', () => {
  it('checks a sample in the browser, and shows that changed evidence fails', async () => {
    const { page } = visitor;
    await show(page, '/');
    await page.getByText('Verified in this browser').waitFor();

    const evidence = page.getByLabel('Evidence', { exact: true });
    await evidence.fill((await evidence.inputValue()).replace('12', '13'));

    await page.getByText('The evidence was changed.').waitFor();
    expect(await page.getByText('Verified in this browser').count()).toBe(0);
  });

  it('shows the verdict of a dropped file in place of the sample, with its name, in view', async () => {
    const { page } = visitor;
    await show(page, '/');
    await page.getByText('Verified in this browser').waitFor();
    const sample = await fetch(`${dashboard.server.url}/sample-bundle.json`);
    const forged = Buffer.from(
      JSON.stringify({ ...((await sample.json()) as object), proof: { picked: 13 } }),
    );
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'forged.json', mimeType: 'application/json', buffer: forged });

    const result = page.getByRole('region', { name: 'Result for forged.json' });
    const verdict = result.locator('.verdict[data-tone=bad]').first();
    await verdict.waitFor();

    expect(await page.getByText('Verified in this browser').count()).toBe(0);
    const { y = -1 } = (await verdict.boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y).toBeLessThan(page.viewportSize()?.height ?? 0);
  });

  it('verifies given evidence, without a wallet', async () => {
    const { page } = visitor;
    await show(page, '/');

    await page.getByLabel('Hash, task id').fill(scene.verified.proofHash);
    await page.getByRole('button', { name: 'Verify' }).click();

    await page.getByText('Verified', { exact: true }).waitFor();
  });

  it('links to wallet apps on a phone', async () => {
    const context = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
    const { page } = await dashboard.open('/', { wallet: null, context });
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click();

    const { host } = new URL(dashboard.server.url);
    const link = page.getByRole('link', { name: 'MetaMask' });
    expect(await link.getAttribute('href')).toBe(`https://link.metamask.io/dapp/${host}/sign-in`);
    const other = await page.getByRole('link', { name: 'Coinbase Wallet' }).getAttribute('href');
    expect(new URL(other ?? '').searchParams.get('cb_url')).toBe(page.url());
  });
});

describe('the page of a proof', () => {
  it('states in a sentence what is proven, then what is not, and folds the rest', async () => {
    const { page } = visitor;
    await show(page, proofPath());
    await page.getByText('Verified', { exact: true }).waitFor();

    await page.getByText(sentence).waitFor();
    await page.getByText('That what the evidence says is true.').waitFor();
    const check = page.getByText('The calldata holds the proof hash');
    expect(await check.isVisible()).toBe(false);
    await page.getByText(/^Checks, made in this browser: all \d+ hold/).click();
    await expect.poll(() => check.isVisible()).toBe(true);
  });

  it('is readable without JavaScript', async () => {
    const { page } = await dashboard.open(proofPath(), {
      wallet: null,
      context: { javaScriptEnabled: false },
    });

    await page.getByRole('heading', { name: 'Pick order 4711 by picker-1' }).waitFor();
    await page.getByText('The evidence with this hash has not changed since').waitFor();
    await page.getByText(scene.verified.txHash).waitFor();
    await page.getByText('The checks need JavaScript').waitFor();
  });

  it('can be copied as a link, and printed as a certificate with a QR code', async () => {
    const { page } = visitor;
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await show(page, proofPath());
    const link = dashboard.server.url + proofPath();
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(link);

    await page.getByRole('button', { name: 'Show the certificate' }).click();
    const sheet = page.locator('.certificate-sheet');
    await sheet.getByText(sentence).waitFor();
    await page.emulateMedia({ media: 'print' });

    await page.getByRole('img', { name: `QR code of ${link}` }).waitFor();
    await sheet.getByText(scene.verified.txHash).waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
    expect(await page.getByRole('status', { name: 'Verdict' }).isVisible()).toBe(false);
    await page.emulateMedia({ media: null });
  });

  it('has a command without an endpoint if the service has no public one', async () => {
    const { page } = visitor;
    const goOn = await answerPage(
      page,
      http.get('*/api/chain', async ({ request }) => {
        const chain = await answerOf<{ params: object }>(request);
        return HttpResponse.json({ ...chain, params: { ...chain.params, rpcUrls: [] } });
      }),
    );
    await show(page, proofPath());
    await page.getByText('Checks, made in this browser').click();

    await page.getByText('So it reports what this service states').waitFor();
    const command = page.locator('pre', { hasText: 'svc verify' });
    const { proofHash } = scene.verified;
    expect(await command.textContent()).toBe(
      `svc verify ${proofHash} --url ${dashboard.server.url}`,
    );
    await goOn();
  });
});

describe('a missing page', () => {
  it('is shown as such, even when it is loaded directly', async () => {
    const { page } = visitor;
    await show(page, '/nowhere');

    await page.getByText('This page does not exist').waitFor();
    await page.getByRole('link', { name: 'Go to the start page' }).waitFor();
  });

  it('has no retry button', async () => {
    const { page } = owner;
    await show(page, '/tasks/none');

    await waitAhead(page, page.getByText('Not found, or deleted'));
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  });
});
