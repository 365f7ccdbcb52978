import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type Client, createClient } from '../../src/client/client.ts';
import { installWallet, launchBrowser, type WalletOptions } from './browser.ts';
import { startDev } from './programs.ts';

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

interface Server {
  url: string;
  stop(): Promise<unknown>;
}

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>;

/** `svc-server dev` and a browser. */
export async function startDashboard() {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-dashboard-'));
  const dev = await startDev(path.join(folder, 'data'));
  const stop = async () => {
    await dev.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return browse({ ...dev, stop });
}

/** A browser for a server that listens, which ends with it. */
export async function browse<Listening extends Server>(server: Listening) {
  const browser = await launchBrowser();
  const pages: DashboardPage[] = [];
  const open = async (address: string, options: OpenOptions = {}) => {
    const opened = await openPage(browser, server.url, address, options);
    pages.push(opened);
    return opened;
  };
  /** Closes every page; throws when anything went wrong in one that the test has not taken out of `faults`. */
  const closePages = async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    const wrong = pages.splice(0).flatMap(({ faults, strangers }) => [...faults, ...strangers]);
    if (wrong.length > 0) throw new Error(`Went wrong in the browser:\n${wrong.join('\n')}`);
  };
  return {
    server,
    open,
    closePages,
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
      return createClient({ baseUrl: server.url, fetch, credential: { session } });
    },
    robotClient: (apiKey: string) =>
      createClient({ baseUrl: server.url, fetch, credential: { apiKey } }),
    async stop() {
      try {
        await closePages();
      } finally {
        await browser.close();
        await server.stop();
      }
    },
  };
}

async function openPage(
  browser: Browser,
  url: string,
  address: string,
  { account = newAccount(), wallet = {}, context: more = {} }: OpenOptions,
): Promise<DashboardPage> {
  const context = await browser.newContext(more);
  if (wallet !== null) await installWallet(context, account, wallet);
  const page = await context.newPage();
  const { faults, strangers } = watch(page, url);
  await page.goto(url + address);
  return { page, context, faults, strangers };
}

/** What no page may do, whatever its test is about. */
export function watch(page: Page, url: string): Pick<DashboardPage, 'faults' | 'strangers'> {
  const faults: string[] = [];
  const strangers = new Set<string>();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (entry) => {
    // Chromium's own view of a plain text breaks the policy that the text came with.
    if (new URL(page.url()).origin !== url) return;
    // The browser writes down each answer above 399; whether it was due is for the test to say.
    if (entry.type() === 'error' && !entry.text().startsWith('Failed to load resource')) {
      faults.push(entry.text());
    }
  });
  page.on('response', (response) => {
    const isPart = ['script', 'stylesheet', 'font', 'image'].includes(
      response.request().resourceType(),
    );
    if (isPart && response.status() >= 400) faults.push(`${response.status()} ${response.url()}`);
  });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (!['data:', 'blob:'].includes(protocol) && origin !== url) strangers.add(origin);
  });
  return { faults, strangers };
}

export function newAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}
