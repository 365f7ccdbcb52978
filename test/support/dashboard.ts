import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type Client, createClient } from '../../src/client/client.ts';
import { installWallet, launchBrowser, type WalletOptions } from './browser.ts';
import { type DevProcess, startDev } from './programs.ts';

/** A page of the dashboard, and what went wrong in it. */
export interface DashboardPage {
  page: Page;
  context: BrowserContext;
  /** Uncaught errors, console errors and breaches of the content security policy. */
  faults: string[];
  /** Everything that the page asked for elsewhere than at the service. */
  strangers: Set<string>;
}

interface OpenOptions {
  account?: PrivateKeyAccount;
  /** Null for a browser without a wallet. */
  wallet?: WalletOptions | null;
  context?: BrowserContextOptions;
}

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>;

/** `svc-server dev` and a browser. */
export async function startDashboard() {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-dashboard-'));
  const [dev, browser] = await Promise.all([startDev(path.join(folder, 'data')), launchBrowser()]);
  const open = (address: string, options: OpenOptions = {}) =>
    openPage(browser, dev, address, options);
  return {
    dev,
    open,
    /** A page of a wallet that has just signed in there by the dashboard's own view. */
    async openSignedIn(address: string, options: OpenOptions = {}): Promise<DashboardPage> {
      const opened = await open(`/sign-in?next=${encodeURIComponent(address)}`, options);
      await opened.page.getByRole('button', { name: 'Test wallet' }).click();
      await opened.page.waitForURL((url) => url.pathname !== '/sign-in');
      return opened;
    },
    /** A client of the service with the page's session, to arrange what a view is to show. */
    async clientOf({ context }: DashboardPage): Promise<Client> {
      const cookies = await context.cookies();
      const session = cookies.find(({ name }) => name === 'svc_session')?.value ?? '';
      return createClient({ baseUrl: dev.url, fetch, credential: { session } });
    },
    robotClient: (apiKey: string) =>
      createClient({ baseUrl: dev.url, fetch, credential: { apiKey } }),
    async closePages() {
      await Promise.all(browser.contexts().map((context) => context.close()));
    },
    async stop() {
      await browser.close();
      await dev.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function openPage(
  browser: Browser,
  dev: DevProcess,
  address: string,
  { account = newAccount(), wallet = {}, context: more = {} }: OpenOptions,
): Promise<DashboardPage> {
  const context = await browser.newContext(more);
  if (wallet !== null) await installWallet(context, account, wallet);
  const page = await context.newPage();
  const faults: string[] = [];
  const strangers = new Set<string>();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (entry) => {
    // The browser writes down each answer above 399; whether it was due is for the test to say.
    if (entry.type() === 'error' && !entry.text().startsWith('Failed to load resource')) {
      faults.push(entry.text());
    }
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && url.origin !== dev.url)
      strangers.add(url.origin);
  });
  await page.goto(dev.url + address);
  return { page, context, faults, strangers };
}

export function newAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}
