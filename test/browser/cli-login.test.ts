import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { installWallet, launchBrowser, type WalletOptions } from '../support/browser.ts';
import { watch } from '../support/dashboard.ts';
import { type DevProcess, startDev } from '../support/programs.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';
import { waitFor } from '../support/wait-for.ts';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

let folder: string;
let dev: DevProcess;
let browser: Browser;
let user: SvcUser;
/** What went wrong in the pages of the running test. */
const faults: string[][] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-cli-login-'));
  [dev, browser] = await Promise.all([startDev(path.join(folder, 'data')), launchBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await dev?.stop();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  user = await createSvcUser(dev.url);
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  await user.remove();
  expect(faults.splice(0).flat()).toEqual([]);
});

/** A new browser profile with the user's wallet, at the page. */
async function open(address: string, wallet: WalletOptions = {}) {
  const context = await browser.newContext();
  await installWallet(context, user.account, wallet);
  const page = await context.newPage();
  const watched = watch(page, dev.url);
  faults.push(watched.faults);
  await page.goto(address);
  return { page, strangers: watched.strangers };
}

const pageOf = (query: Record<string, string>) =>
  `${dev.url}/cli-login?${new URLSearchParams({ challenge: CHALLENGE, ...query })}`;

const signIn = async (page: Page) => {
  await page.click('text=Test wallet');
  await page.waitForSelector('#consent:not([hidden])');
};

/** `svc login` with a browser opener that keeps the address it was given. */
async function startLogin() {
  const opener = path.join(user.folder, 'xdg-open');
  const opened = path.join(user.folder, 'opened');
  await writeFile(
    opener,
    `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`,
  );
  await chmod(opener, 0o755);
  const finished = user.spawnSvc(['login', dev.url], {
    env: { PATH: `${user.folder}:${process.env.PATH}` },
  });
  const read = () => readFile(opened, 'utf8').catch(() => null);
  return { finished, address: await waitFor('the opened page', read, 30_000) };
}

describe('svc login by the browser', () => {
  it('signs the wallet in, asks, and hands a session over', async () => {
    const { finished, address } = await startLogin();

    const { page, strangers } = await open(address);
    await signIn(page);
    const shown = await page.textContent('#check');
    await page.click('#allow');
    const { exitCode, stdout, stderr } = await finished;

    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(user.wallet)]);
    expect(stderr).toContain(`The page must show ${shown}.`);
    expect((await user.json('whoami')).wallet).toBe(user.wallet);
    await page.waitForSelector('text=You can close this page');
    const { port } = new URL(page.url());
    expect([...strangers]).toEqual([`http://127.0.0.1:${port}`]);
  });

  it('ends when the page refuses', async () => {
    const { finished, address } = await startLogin();

    const { page } = await open(address);
    await signIn(page);
    await page.click('#deny');
    const { exitCode, stderr } = await finished;

    expect(exitCode).toBe(1);
    expect(stderr).toContain('refused in the browser');
  });

  it('waits for no connection that a browser opened and never used', async () => {
    const { finished, address } = await startLogin();
    const port = Number(new URL(address).searchParams.get('port'));
    const unused = connect(port, '127.0.0.1');
    await once(unused, 'connect');

    const { page } = await open(address);
    await signIn(page);
    await page.click('#allow');

    const { exitCode } = await finished;
    unused.destroy();
    expect(exitCode).toBe(0);
  });

  it('takes no code that another page sends', async () => {
    const { finished, address } = await startLogin();
    const port = new URL(address).searchParams.get('port');

    const forged = await fetch(`http://127.0.0.1:${port}/callback?code=${'A'.repeat(43)}&state=x`);

    expect(forged.status).toBe(400);
    const { page } = await open(address);
    await signIn(page);
    await page.click('#allow');
    expect((await finished).exitCode).toBe(0);
  });

  it('takes a code from a browser elsewhere', async () => {
    const allow = async (screen: string) => {
      const { page } = await open(/http\S+\/cli-login\S+/.exec(screen)?.[0] ?? '');
      await signIn(page);
      await page.click('#allow');
      return `${await page.textContent('#code:not(:empty)')}\n`;
    };

    const { exitCode, screen } = await user.inTerminal(['login', dev.url, '--no-browser'], {
      typed: [['Code shown in the browser: ', allow]],
    });

    expect([exitCode, screen]).toEqual([0, expect.stringContaining(user.wallet)]);
  });
});

describe('the page', () => {
  it('never asks for more than the click on Allow of one who is signed in', async () => {
    const { page } = await open(pageOf({}));
    await signIn(page);

    await page.goto(pageOf({}));
    await page.waitForSelector('#consent:not([hidden])');

    expect(await page.textContent('#account')).toBe(user.wallet);
    expect(await page.isHidden('#handover')).toBe(true);
  });

  it('shows what others say as text', async () => {
    const name = '<img src=x onerror=alert(1)>\u202eevil';

    const { page } = await open(pageOf({ name }), { name: '<b>Wallet</b>' });
    await page.waitForSelector('#wallets:not([hidden])');

    expect(await page.textContent('#machine')).toBe('<img src=x onerror=alert(1)>evil');
    expect(await page.textContent('#wallet-list button')).toBe('<b>Wallet</b>');
  });

  it('says that the wallet was told no, and lets one try again', async () => {
    const { page } = await open(pageOf({}), { refuses: true });

    await page.click('text=Test wallet');

    await page.waitForSelector('text=The request was rejected in the wallet');
    expect(await page.isEnabled('text=Test wallet')).toBe(true);
  });

  it.each([
    ['without a challenge', { challenge: '' }],
    ['with a port and no state', { port: '4000' }],
    ['with a port that is another address', { port: '1@evil.test', state: 's'.repeat(43) }],
    ['with a port that is none', { port: '70000', state: 's'.repeat(43) }],
  ])('goes no further %s', async (_, query) => {
    const { page } = await open(pageOf(query));

    await page.waitForSelector('text=This link is not complete');

    expect(await page.isHidden('#wallets')).toBe(true);
    expect(await page.isHidden('#consent')).toBe(true);
  });

  it('is served with a policy that lets nothing else in', async () => {
    const response = await fetch(`${dev.url}/cli-login`);
    const html = await response.text();
    const policy = response.headers.get('content-security-policy') ?? '';

    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:/);
    expect(html).not.toMatch(/https?:|<script>|<style|style=|\son\w+=/);
  });
});
