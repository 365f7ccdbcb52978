import { readFile } from 'node:fs/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { type Dashboard, openDashboard } from '../../support/dashboard.ts';
import { holdRequests } from '../../support/page-answers.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

const asToken = (accountToken: string) =>
  createClient({ baseUrl: dashboard.server.url, fetch, credential: { accountToken } });

describe('the page Access', () => {
  it('creates a token, shows it once, and revokes it', async () => {
    const { page, faults } = await dashboard.openSignedIn('/access');
    const dialog = page.getByRole('dialog');
    await page.getByText('No tokens').waitFor();

    await page.getByRole('button', { name: 'Create token' }).click();
    await dialog.getByLabel('Name').fill('nightly');
    await dialog.getByLabel('Scope').selectOption('write');
    await dialog.getByLabel('Lifetime').selectOption('30');
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await page.getByText('Copy this token now').waitFor();
    const secret = (await dialog.locator('pre').first().textContent()) ?? '';
    expect(secret).toMatch(/^svct_[0-9a-f]{40}$/);
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await page.getByText('Close without the token?').waitFor();
    await dialog.getByRole('button', { name: 'Back to the token' }).click();
    await dialog.getByLabel('I have saved the token').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);
    const { body } = await asToken(secret).call('createFleet', { body: { name: 'Hall' } });
    expect(body.fleet.name).toBe('Hall');

    await page.getByRole('button', { name: 'Revoke nightly' }).click();
    await page.getByText('No tokens').waitFor();
    await expect(asToken(secret).call('getAccount')).rejects.toMatchObject({
      code: 'invalid_token',
    });
    expect(faults).toEqual([]);
  });

  it('keeps the dialog open until the token arrives', async () => {
    const { page } = await dashboard.openSignedIn('/access');
    const dialog = page.getByRole('dialog');
    const { sent, release } = await holdRequests(page, 'POST', '/api/v1/tokens');

    await page.getByRole('button', { name: 'Create token' }).click();
    await dialog.getByLabel('Name').fill('slow');
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await sent;
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    release();

    await page.getByText('Copy this token now').waitFor();
  });

  it('asks before a second token gets the same name', async () => {
    const opened = await dashboard.openSignedIn('/access');
    const owner = await dashboard.clientOf(opened);
    const made = await owner.call('createToken', { body: { name: 'nightly', scope: 'read' } });
    const { page } = opened;
    await page.reload();
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create token' }).click();
    await dialog.getByLabel('Name').fill('nightly');

    const create = dialog.getByRole('button', { name: 'Create token' });
    await dialog.getByRole('alert').getByText(made.body.token.id).waitFor();
    await expect.poll(() => create.isDisabled()).toBe(true);
    await dialog.getByLabel('Use the name again').check();
    await create.click();

    await page.getByText('Copy this token now').waitFor();
  });

  it('shows actors and actions, newest first, and older entries on demand', async () => {
    const opened = await dashboard.openSignedIn('/account');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    for (let i = 0; i < 60; i += 1) {
      await owner.call('createRobot', { body: { name: `arm ${i}` } });
    }
    await page.goto(`${dashboard.server.url}/access`);

    const rows = page.getByRole('region', { name: 'Table of entries' }).getByRole('row');
    await page.getByText('Robot created: arm 59').waitFor();
    expect(await rows.nth(1).textContent()).toContain('Robot created: arm 59');
    expect(await rows.nth(1).textContent()).toContain('Session, 127.0.0.1');
    expect(await page.getByText('Sign in: wallet').count()).toBe(0);
    await page.getByText('Robot created: arm 59').hover();
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, 2_000);
        return page.getByText('Sign in: wallet').count();
      })
      .toBe(1);
  });
});

describe('the page Account', () => {
  it('exports nothing without a signature, and reports it', async () => {
    const { page, faults } = await dashboard.openSignedIn('/account', {
      wallet: { refuses: true },
    });
    const calls: string[] = [];
    page.on('request', (request) => calls.push(new URL(request.url()).pathname));

    await page.getByRole('button', { name: 'Export' }).click();

    await page.getByText('The signature was rejected in the wallet').waitFor();
    expect(calls).toContain('/api/auth/challenge');
    expect(calls).not.toContain('/api/v1/me/export');
    expect(faults).toEqual([]);
  });

  it('shows why the service refuses an export', async () => {
    const wallet = { signsWith: privateKeyToAccount(generatePrivateKey()) };
    const { page, faults } = await dashboard.openSignedIn('/account', { wallet });

    await page.getByRole('button', { name: 'Export' }).click();

    await page.getByText('matches no open challenge of this wallet').waitFor();
    expect(faults.splice(0).filter((fault) => !fault.includes('401'))).toEqual([]);
  });

  it('exports and deletes the account, each after a signature', async () => {
    const opened = await dashboard.openSignedIn('/account');
    const { page, faults } = opened;
    const owner = await dashboard.clientOf(opened);
    const { wallet } = (await owner.call('getAccount')).body;
    await owner.call('createRobot', { body: { name: 'arm' } });
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).kind)).toContain('robot');
    const { items } = (await owner.call('listAuditLog')).body;
    expect(items[0]?.kind).toBe('account_exported');

    await page.getByRole('button', { name: 'Delete account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill(wallet);
    await dialog.getByRole('button', { name: 'Delete permanently' }).click();
    await page.waitForURL((url) => url.pathname === '/');
    await expect(owner.call('getAccount')).rejects.toMatchObject({ code: 'invalid_session' });
    expect(faults.splice(0).filter((fault) => !fault.includes('401'))).toEqual([]);
  });
});
