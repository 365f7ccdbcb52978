import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { installWallet, launchBrowser, type WalletOptions } from '../../support/browser.ts';
import { watch } from '../../support/dashboard.ts';
import { type DevProcess, startDev } from '../../support/programs.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

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

const signIn = async (page: Page) => {
  await page.click('text=Test wallet');
  await page.waitForSelector(CODE_FIELD);
};

const CODE_FIELD = 'role=textbox[name="Code that the terminal shows"]';
const CONSENT = 'text=Allow this only if';
const CODE = /[0-9A-Z]{4}-[0-9A-Z]{4}/;
const codeOn = (screen: string) => CODE.exec(screen)?.[0] ?? 'no code';

/** Signs in on the page, and enters the code. */
async function enter(code: string, wallet: WalletOptions = {}) {
  const opened = await open(`${dev.url}/cli-login`, wallet);
  await signIn(opened.page);
  await opened.page.fill(CODE_FIELD, code);
  await opened.page.click('text=Continue');
  return opened;
}

/** Enters the code that a terminal shows, and allows or refuses it. */
const decide = (button: 'Allow' | 'Refuse') => async (screen: string) => {
  const { page } = await enter(codeOn(screen));
  await page.click(`text="${button}"`);
  await page.waitForSelector('text=You can close this page');
  return '';
};

/** An opener of browsers, as other users of the machine see it: it keeps the arguments that it was given. */
async function installOpener() {
  const opener = path.join(user.folder, 'xdg-open');
  const opened = path.join(user.folder, 'opened');
  await writeFile(
    opener,
    `#!/bin/sh\nprintf '%s ' "$@" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`,
  );
  await chmod(opener, 0o755);
  return {
    env: { PATH: `${user.folder}:${process.env.PATH}` },
    arguments: () => readFile(opened, 'utf8').catch(() => null),
  };
}

/** A session of another wallet, opened without a browser. */
async function signedInStranger() {
  const stranger = await createSvcUser(dev.url);
  const { address } = stranger.account;
  const call = (path: string, body: object, headers = {}) =>
    fetch(dev.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: dev.url, ...headers },
      body: JSON.stringify(body),
    });
  const challenge = await call('/api/auth/challenge', { address });
  const { message } = (await challenge.json()) as { message: string };
  const signature = await stranger.account.signMessage({ message });
  const [cookie = ''] = (await call('/api/auth/verify', { address, signature })).headers
    .getSetCookie()
    .filter((line) => line.startsWith('svc_session='));
  await stranger.remove();
  const allow = (user_code: string) =>
    call('/api/auth/cli/authorize', { user_code, decision: 'allow' }, { cookie });
  const sessions = async () =>
    (await fetch(`${dev.url}/api/v1/sessions`, { headers: { cookie } })).json();
  return { wallet: stranger.wallet, allow, sessions };
}

describe('svc login by the browser', () => {
  it('names the wallet that allowed the code, asks, and keeps its session', async () => {
    const { exitCode, screen } = await user.inTerminal(['login', dev.url, '--no-browser'], {
      typed: [
        [CODE, decide('Allow')],
        [`Sign in as ${user.wallet}? [y/N] `, 'y\r'],
      ],
    });

    expect([exitCode, screen]).toEqual([0, expect.stringContaining(`Open ${dev.url}/cli-login`)]);
    expect((await user.json('whoami')).wallet).toBe(user.wallet);
  });

  it('shows on the page which machine asks, and which wallet is signed in', async () => {
    const { page, strangers } = await open(`${dev.url}/cli-login`);
    await signIn(page);
    const shown = async (screen: string) => {
      await page.fill(CODE_FIELD, codeOn(screen).toLowerCase());
      await page.click('text=Continue');
      await page.waitForSelector(CONSENT);
      expect(await page.textContent('main strong')).toBe(hostname());
      expect(await page.textContent('main code')).toBe(user.wallet);
      await page.click('text="Allow"');
      return '';
    };

    const { exitCode } = await user.inTerminal(
      ['login', dev.url, '--no-browser', '--address', user.wallet],
      { typed: [[CODE, shown]] },
    );

    expect(exitCode).toBe(0);
    expect([...strangers]).toEqual([]);
  });

  it('exposes nothing to other users of the machine: neither argument nor port', async () => {
    const opener = await installOpener();
    const attack = async (screen: string) => {
      const args = await waitFor('the opened page', opener.arguments, 30_000);
      expect(args).toBe(`${dev.url}/cli-login `);
      expect(args).not.toContain(codeOn(screen));
      return decide('Allow')(screen);
    };

    const { exitCode } = await user.inTerminal(['login', dev.url], {
      env: opener.env,
      typed: [
        [CODE, attack],
        ['Sign in as', 'y\r'],
      ],
    });

    expect(exitCode).toBe(0);
  });

  it('ends the session of another wallet that entered the code first, and does not save it', async () => {
    const stranger = await signedInStranger();
    const steal = async (screen: string) => {
      expect((await stranger.allow(codeOn(screen))).status).toBe(200);
      return '';
    };

    const { exitCode, screen } = await user.inTerminal(['login', dev.url, '--no-browser'], {
      typed: [
        [CODE, steal],
        [`Sign in as ${stranger.wallet}? [y/N] `, '\r'],
      ],
    });

    expect([exitCode, screen]).toEqual([1, expect.stringContaining('nothing was saved')]);
    expect((await user.json('config', 'list')).items).toEqual([]);
    expect(await stranger.sessions()).toMatchObject({ items: [{ current: true }] });
  });

  it('saves only the wallet that a script names', async () => {
    const stranger = await signedInStranger();
    const steal = async (screen: string) => {
      await stranger.allow(codeOn(screen));
      return '';
    };

    const { exitCode, screen } = await user.inTerminal(
      ['login', dev.url, '--no-browser', '--address', user.wallet],
      { typed: [[CODE, steal]] },
    );

    expect([exitCode, screen]).toEqual([1, expect.stringContaining(stranger.wallet)]);
    expect((await user.json('config', 'list')).items).toEqual([]);
  });

  it('ends if the page refuses', async () => {
    const { exitCode, screen } = await user.inTerminal(['login', dev.url, '--no-browser'], {
      typed: [[CODE, decide('Refuse')]],
    });

    expect([exitCode, screen]).toEqual([1, expect.stringContaining('refused in the browser')]);
  });
});

describe('the page', () => {
  /** A code that nothing waits for. */
  const newCode = async (name: string) => {
    const response = await fetch(`${dev.url}/api/auth/cli/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });
    const { user_code } = (await response.json()) as { user_code: string };
    return user_code;
  };

  it('asks a signed-in wallet only for the code', async () => {
    const { page } = await open(`${dev.url}/cli-login`);
    await signIn(page);

    await page.reload();
    await page.waitForSelector(CODE_FIELD);

    expect(await page.textContent('main code')).toBe(user.wallet);
    expect(await page.isHidden('text=Test wallet')).toBe(true);
  });

  it('shows foreign input as text', async () => {
    const code = await newCode('<img src=x onerror=alert(1)>\u202eevil');

    const { page } = await open(`${dev.url}/cli-login`, { name: '<b>Wallet</b>' });
    await page.click('button:has-text("<b>Wallet</b>")');
    await page.fill(CODE_FIELD, code);
    await page.click('text=Continue');
    await page.waitForSelector(CONSENT);

    expect(await page.textContent('main strong')).toBe('<img src=x onerror=alert(1)>evil');
  });

  it('reports a wrong code, and accepts the right one', async () => {
    const code = await newCode('laptop');

    const { page } = await enter('0000-0000');
    await page.waitForSelector('text=The code is wrong, used or expired');
    await page.fill(CODE_FIELD, code);
    await page.click('text=Continue');

    await page.waitForSelector(CONSENT);
  });

  it('reports a rejected signature, and allows another try', async () => {
    const { page } = await open(`${dev.url}/cli-login`, { refuses: true });

    await page.click('text=Test wallet');

    await page.waitForSelector('text=was rejected in the wallet');
    expect(await page.isEnabled('text=Test wallet')).toBe(true);
  });

  it('is served with a policy that allows nothing else', async () => {
    const response = await fetch(`${dev.url}/cli-login`);
    const policy = response.headers.get('content-security-policy') ?? '';

    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:/);
  });
});
