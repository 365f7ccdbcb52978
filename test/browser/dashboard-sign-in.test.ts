import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Dashboard, newAccount, startDashboard } from '../support/dashboard.ts';
import { waitFor } from '../support/wait-for.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await startDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

describe('signing in', () => {
  it('goes on to the view that was asked for', async () => {
    const account = newAccount();
    const { page } = await dashboard.open('/account', { account });

    await page.getByRole('button', { name: 'Test wallet' }).click();

    await page.waitForURL('**/account');
    await page.getByRole('main').getByText(account.address, { exact: true }).waitFor();
    await page.getByText('requirement met').waitFor();
  });

  it('explains itself where no wallet is installed', async () => {
    const { page } = await dashboard.open('/sign-in', { wallet: null });

    await page.getByText('No wallet was found in this browser').waitFor();

    expect(await page.getByText('Install an Ethereum wallet').isVisible()).toBe(true);
  });

  it.each([
    ['the signature was rejected', { refuses: true }, 'The signature was rejected in the wallet'],
    ['another account signed', { signsWith: newAccount() }, 'The signature is not from'],
    ['the wallet switched accounts', { switchesTo: newAccount() }, 'The wallet switched from'],
  ])('says so when %s, and lets one try again', async (_, wallet, message) => {
    const { page } = await dashboard.open('/sign-in', { wallet });

    await page.getByRole('button', { name: 'Test wallet' }).click();

    await page.getByRole('alert').getByText(message).waitFor();
    expect(await page.getByRole('button', { name: 'Test wallet' }).isEnabled()).toBe(true);
  });

  it('says so when the message has expired in the wallet', async () => {
    const { page } = await dashboard.open('/sign-in', { wallet: { holds: true } });
    await page.clock.install();

    await page.getByRole('button', { name: 'Test wallet' }).click();
    await page.getByText('Read the message in the wallet').waitFor();
    await page.clock.fastForward('11:00');
    await page.evaluate('testWallet.release()');

    await page.getByRole('alert').getByText('has expired').waitFor();
  });

  it('never goes on to another site', async () => {
    const { page } = await dashboard.openSignedIn('//evil.test/');

    expect(page.url()).toBe(`${dashboard.server.url}/`);
  });

  it('shows a wallet with its icon, and what it calls itself as text', async () => {
    const { page } = await dashboard.open('/sign-in', { wallet: { name: '<img src=x>' } });

    await page.getByRole('button', { name: '<img src=x>' }).waitFor();
    await waitFor('the icon', () =>
      page.evaluate<boolean>('document.querySelector(".wallet img").naturalWidth > 0'),
    );
  });
});

describe('a session', () => {
  it('that was revoked ends on the sign-in view, with the way back', async () => {
    const opened = await dashboard.openSignedIn('/account');
    const client = await dashboard.clientOf(opened);
    const { body } = await client.call('listSessions');

    await client.call('revokeSession', { params: { id: body.items[0]?.id ?? '' } });

    await opened.page.getByText('Your session has ended').waitFor({ timeout: 60_000 });
    await opened.page.getByRole('button', { name: 'Test wallet' }).click();
    await opened.page.waitForURL('**/account');
  });

  it('is left by signing out', async () => {
    const opened = await dashboard.openSignedIn('/');

    await opened.page.getByRole('button', { name: 'Sign out' }).click();

    await opened.page.waitForURL('**/sign-in');
    const cookies = await opened.context.cookies();
    expect(cookies.map(({ name }) => name)).not.toContain('svc_session');
  });

  it('elsewhere is listed, and revoked from here', async () => {
    const account = newAccount();
    const other = await dashboard.openSignedIn('/account', { account });
    const { page } = await dashboard.openSignedIn('/account', { account });

    await page.getByRole('button', { name: 'Revoke' }).click();

    await other.page.getByText('Your session has ended').waitFor({ timeout: 60_000 });
  });

  it('stays with its account when the wallet switches, and offers the other', async () => {
    const [first, second] = [newAccount(), newAccount()];
    const { page } = await dashboard.openSignedIn('/account', { account: first });

    await page.evaluate(`testWallet.switchAccount('${second.address}')`);

    await page.getByText('Your wallet has switched to another account').waitFor();
    await page.getByRole('main').getByText(first.address, { exact: true }).waitFor();
  });
});

describe('the anchoring network', () => {
  it('is added to a wallet that does not know it, and switched to', async () => {
    const { page } = await dashboard.openSignedIn('/account', {
      wallet: { chainId: '0x1' },
    });

    await page.getByRole('button', { name: /^Switch wallet to/ }).click();

    await page.getByText('Your wallet is on this network').waitFor();
    expect(await page.evaluate('testWallet.added')).toMatchObject({
      chainId: '0x7a69',
      rpcUrls: [expect.stringContaining('http')],
    });
  });
});
