import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import {
  browse,
  type Dashboard,
  newAccount,
  openDashboard,
  waitAhead,
} from '../../support/dashboard.ts';
import { startTestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

describe('signing in', () => {
  it('continues to the requested view', async () => {
    const account = newAccount();
    const { page } = await dashboard.open('/account?from=link', { account });

    await page.getByRole('button', { name: 'Test wallet' }).click();

    await page.waitForURL('**/account?from=link');
    await page.getByRole('main').getByText(account.address, { exact: true }).waitFor();
    await page.getByText('no requirement').waitFor();
  });

  it('shows an explanation if no wallet is installed', async () => {
    const { page } = await dashboard.open('/sign-in', { wallet: null });

    await page.getByText('No wallet was found in this browser').waitFor();

    await expect.poll(() => page.getByText('Install an Ethereum wallet').isVisible()).toBe(true);
  });

  it.each([
    ['the signature was rejected', { refuses: true }, 'The signature was rejected in the wallet'],
    ['another account signed', { signsWith: newAccount() }, 'The signature is not from'],
    ['the wallet switched accounts', { switchesTo: newAccount() }, 'The wallet switched from'],
  ])('reports it if %s, and allows another try', async (_, wallet, message) => {
    const { page } = await dashboard.open('/sign-in', { wallet });

    await page.getByRole('button', { name: 'Test wallet' }).click();

    await page.getByRole('alert').getByText(message).waitFor();
    await expect
      .poll(() => page.getByRole('button', { name: 'Test wallet' }).isEnabled())
      .toBe(true);
  });

  it('reports a message that expired in the wallet', async () => {
    const { page } = await dashboard.open('/sign-in', { wallet: { holds: true } });

    await page.getByRole('button', { name: 'Test wallet' }).click();
    await page.getByText('Read the message in the wallet').waitFor();
    await page.clock.fastForward('11:00');
    await page.evaluate('testWallet.release()');

    await page.getByRole('alert').getByText('has expired').waitFor();
  });

  it('works with the chosen one of several wallets, on any network', async () => {
    const { page } = await dashboard.open('/sign-in', {
      wallet: { beside: 'Another wallet', chainId: '0x1' },
    });
    const wallets = page.getByRole('list', { name: 'Wallets in this browser' });
    await expect
      .poll(() => wallets.getByRole('button').allTextContents())
      .toEqual(['Test wallet', 'Another wallet']);

    await page.getByRole('button', { name: 'Another wallet' }).click();

    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.evaluate('localStorage.getItem("svc-wallet")')).toBe('beside.wallet');
  });

  it.each(['//evil.test/', '/\\evil.test/', '/\t/evil.test/', 'https://evil.test/'])(
    'never continues to another site: %j',
    async (next) => {
      const { page } = await dashboard.openSignedIn('/account');

      await page.goto(`${dashboard.server.url}/sign-in?next=${encodeURIComponent(next)}`);

      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(page.url()).toBe(`${dashboard.server.url}/`);
    },
  );

  it('shows a wallet with its icon, and its name as text', async () => {
    const { page } = await dashboard.open('/sign-in', { wallet: { name: '<img src=x>' } });

    await page.getByRole('button', { name: '<img src=x>' }).waitFor();
    await waitFor('the icon', () =>
      page.evaluate<boolean>('document.querySelector(".wallet img").naturalWidth > 0'),
    );
  });
});

describe('a session', () => {
  it('that was revoked leads to the sign-in view, and returns afterwards', async () => {
    const opened = await dashboard.openBySigningIn('/account');
    const client = await dashboard.clientOf(opened);
    const { body } = await client.call('listSessions');

    await client.call('revokeSession', { params: { id: body.items[0]?.id ?? '' } });

    await waitAhead(opened.page, opened.page.getByText('Your session has ended'));
    await opened.page.getByRole('button', { name: 'Test wallet' }).click();
    await opened.page.waitForURL('**/account');
  });

  it('that ends under an open form loses no input', async () => {
    const opened = await dashboard.openSignedIn('/fleets');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    await page.getByRole('button', { name: 'Add fleet' }).click();
    await page.getByLabel('Name').fill('Hall of the night');
    const { body } = await owner.call('listSessions');
    await owner.call('revokeSession', { params: { id: body.items[0]?.id ?? '' } });

    // On a loaded machine the page may notice before the form is sent, and hides the form.
    const submit = page.getByRole('dialog').getByRole('button', { name: 'Add fleet' });
    await submit.click({ timeout: 5_000 }).catch(() => {});
    await page.getByText('Your session has ended').waitFor();
    await expect.poll(() => page.getByLabel('Name').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Test wallet' }).click();

    await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('Hall of the night');
    await submit.click();
    await page.getByRole('listitem').getByText('Hall of the night').waitFor();
  });

  it('of another wallet shows nothing of the previous wallet', async () => {
    const [first, second] = [newAccount(), newAccount()];
    const opened = await dashboard.openSignedIn('/robots', {
      account: first,
      wallet: { alsoSigns: second },
    });
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    await owner.call('createRobot', { body: { name: 'arm-of-the-first' } });
    await waitAhead(page, page.getByRole('link', { name: 'arm-of-the-first' }));
    const { body } = await owner.call('listSessions');
    await owner.call('revokeSession', { params: { id: body.items[0]?.id ?? '' } });
    await waitAhead(page, page.getByText('Your session has ended'));

    await page.evaluate(`testWallet.switchAccount('${second.address}')`);
    await page.getByRole('button', { name: 'Test wallet' }).click();

    await page.getByText('No robots yet').waitFor();
    expect(await page.content()).not.toContain('arm-of-the-first');
  });

  it('of another wallet in a second tab replaces what the first tab shows', async () => {
    const other = newAccount();
    const opened = await dashboard.openSignedIn('/robots', { wallet: { alsoSigns: other } });
    const { page, context } = opened;
    const owner = await dashboard.clientOf(opened);
    await owner.call('createRobot', { body: { name: 'old robot' } });
    await waitAhead(page, page.getByRole('link', { name: 'old robot' }));
    const second = await context.newPage();
    await second.goto(`${dashboard.server.url}/robots`);
    await second.getByRole('link', { name: 'old robot' }).waitFor();

    await second.evaluate(`testWallet.switchAccount('${other.address}')`);
    await second.getByRole('button', { name: 'Sign in as' }).click();
    await second.getByText('No robots yet').waitFor();

    // Sooner than the first tab polls.
    await page.getByText('No robots yet').waitFor({ timeout: 4_000 });
  });

  it('has no secret that a script could read', async () => {
    const { page } = await dashboard.openBySigningIn('/');

    const kept = await page.evaluate<string>(
      'document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })',
    );

    expect(kept).not.toMatch(/session|[0-9a-f]{64}/);
  });

  it('ends by signing out', async () => {
    const opened = await dashboard.openBySigningIn('/');

    await opened.page.getByRole('button', { name: 'Sign out' }).click();

    await opened.page.waitForURL('**/sign-in');
    const cookies = await opened.context.cookies();
    expect(cookies.map(({ name }) => name)).not.toContain('svc_session');
  });

  it('elsewhere is listed, and can be revoked here', async () => {
    const account = newAccount();
    const other = await dashboard.openSignedIn('/access', { account });
    const { page } = await dashboard.openSignedIn('/access', { account });

    await page.getByRole('button', { name: 'Revoke' }).click();

    await waitAhead(other.page, other.page.getByText('Your session has ended'));
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
  it('is added to a wallet that does not know it, and selected', async () => {
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

describe('a network that the user rejects', () => {
  it('is not added, and reported as rejected', async () => {
    const { page } = await dashboard.openSignedIn('/account', {
      wallet: { chainId: '0x1', refusesChain: true },
    });

    await page.getByRole('button', { name: /^Switch wallet to/ }).click();

    await page.getByText('The change of network was rejected in the wallet').waitFor();
    await expect
      .poll(() => page.getByRole('button', { name: /^Switch wallet to/ }).isEnabled())
      .toBe(true);
  });
});

describe('with a token gate', () => {
  /** Answers 5 to every call, so to balanceOf as well. */
  const FIVE_FOR_ALL = '0x60055f5260205ff3';
  const token = '0x00000000000000000000000000000000000000aa';

  it('the gate is shown, and a new account that does not pass it is refused', async () => {
    const clock = createTestClock(Date.now());
    const service = await startTestService({ chain: 'mining', clock });
    const gated = await browse({ url: service.url, stop: service.close });
    onTestFinished(gated.stop);
    await service.rpc('anvil_setCode', [token, FIVE_FOR_ALL]);
    service.settings.gate = { token, minBalance: 5n };
    service.settings.signup.mode = 'gate';

    const { page } = await gated.openSignedIn('/account');
    await page.getByText('requirement met').waitFor();
    service.settings.gate = { token, minBalance: 6n };
    // The service asks the chain at most every 10 s.
    clock.advance(10_000);
    await waitAhead(page, page.getByText('requirement not met'));
    const other = await gated.open('/sign-in');
    await other.page.getByRole('button', { name: 'Test wallet' }).click();

    await other.page.getByRole('alert').getByText('does not hold the token').waitFor();
  });
});

describe('a wallet that never answers', () => {
  it('can be canceled, and tried again', async () => {
    const { page } = await dashboard.open('/sign-in', { wallet: { holds: true } });
    await page.getByRole('button', { name: 'Test wallet' }).click();
    await page.getByText('Read the message in the wallet').waitFor();

    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alert').getByText('You canceled the sign-in').waitFor();
    await page.evaluate('testWallet.release()');
    await page.getByRole('button', { name: 'Test wallet' }).click();

    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
});

describe('a message that the service no longer takes', () => {
  it('is reported as such, whatever the clock of the page', async () => {
    const clock = createTestClock();
    const service = await startTestService({ clock });
    const expiring = await browse({ url: service.url, stop: service.close });
    onTestFinished(expiring.stop);
    const { page } = await expiring.open('/sign-in', { wallet: { holds: true } });

    await page.getByRole('button', { name: 'Test wallet' }).click();
    await page.getByText('Read the message in the wallet').waitFor();
    clock.advance(11 * 60_000);
    await page.evaluate('testWallet.release()');

    await page.getByRole('alert').getByText('its message is no longer open').waitFor();
  });
});
