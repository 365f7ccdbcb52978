import {
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
  request,
} from 'playwright-core';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type Client, createClient } from '../../src/client/client.ts';
import { installWallet, sharedBrowser, type WalletOptions } from './browser.ts';
import { type DevService, startDevService } from './dev-service.ts';
import { recordFailures, writeRecord } from './failure-records.ts';
import { waitFor } from './wait-for.ts';

/** A page of the dashboard, and its errors. */
export interface DashboardPage {
  page: Page;
  context: BrowserContext;
  /** Uncaught errors, console errors and breaches of the content security policy. */
  faults: string[];
  /** Addresses of all responses. */
  loaded: string[];
  /** Requests of the page to other sites. */
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

let shared: Promise<DevService> | undefined;

/** The service that the tests of this worker share; each browser context is an account of its own. */
export async function openDashboard() {
  shared ??= startDevService({ shared: true }).catch((error: unknown) => {
    shared = undefined;
    throw error;
  });
  return browse({ ...(await shared), stop: async () => {} });
}

/** The same with a service for a test that stops its chain. */
export async function startDashboard() {
  return browse(await startDevService());
}

/** Pages of a server that listens, which ends with them. */
export async function browse<Listening extends Server>(server: Listening) {
  const browser = await sharedBrowser();
  const pages: DashboardPage[] = [];
  const written = new WeakMap<DashboardPage, () => Promise<void>>();
  const open = async (address: string, options: OpenOptions = {}, isSignedIn = false) => {
    const { account = newAccount() } = options;
    const storageState = isSignedIn ? await signIn(server.url, account) : undefined;
    const context = await browser.newContext({
      reducedMotion: 'reduce',
      ...(storageState && { storageState }),
      ...options.context,
    });
    const opened = await openPage(context, server.url, address, { ...options, account });
    pages.push(opened);
    written.set(
      opened,
      recordFailures((folder) => writePage(opened, folder)),
    );
    return opened;
  };
  /** Closes every page; throws if a page has an error that the test has not removed from `faults`. */
  const closePages = async () => {
    const opened = pages.splice(0);
    for (const page of opened) await written.get(page)?.();
    await Promise.all(opened.map(({ context }) => context.close()));
    const wrong = opened.flatMap(({ faults, strangers }) => [...faults, ...strangers]);
    if (wrong.length > 0) throw new Error(`Went wrong in the browser:\n${wrong.join('\n')}`);
  };
  return {
    server,
    open,
    closePages,
    /** A page of a wallet that has signed in at the service. */
    openSignedIn: (address: string, options: OpenOptions = {}): Promise<DashboardPage> =>
      open(address, options, true),
    /** The same by the dashboard's own view. */
    async openBySigningIn(address: string, options: OpenOptions = {}): Promise<DashboardPage> {
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
        await server.stop();
      }
    },
  };
}

/** What a browser keeps of a sign-in with the wallet of `installWallet`. */
async function signIn(url: string, account: PrivateKeyAccount) {
  const api = await request.newContext({ baseURL: url, extraHTTPHeaders: { origin: url } });
  try {
    const { address } = account;
    const post = async (path: string, data: object) =>
      (await api.post(path, { data, failOnStatusCode: true })).json();
    const { message } = await post('/api/auth/challenge', { address });
    await post('/api/auth/verify', { address, signature: await account.signMessage({ message }) });
    const { cookies } = await api.storageState();
    const localStorage = [{ name: 'svc-wallet', value: 'test.wallet' }];
    return { cookies, origins: [{ origin: url, localStorage }] };
  } finally {
    await api.dispose();
  }
}

async function openPage(
  context: BrowserContext,
  url: string,
  address: string,
  { account, wallet = {} }: OpenOptions & { account: PrivateKeyAccount },
): Promise<DashboardPage> {
  // Its time goes on as ever; `waitAhead` moves it.
  await context.clock.install();
  if (wallet !== null) await installWallet(context, account, wallet);
  const page = await context.newPage();
  const watched = watch(page, url);
  await page.goto(url + address);
  return { page, context, ...watched };
}

async function writePage({ page, faults }: DashboardPage, folder: string): Promise<void> {
  await writeRecord(folder, 'page.png', await page.screenshot({ fullPage: true }));
  await writeRecord(folder, 'page.txt', [page.url(), ...faults].join('\n'));
}

/** Waits for content that a page shows once it has read again, and moves its clock ahead meanwhile. */
export async function waitAhead(page: Page, shown: Locator): Promise<void> {
  await waitFor(String(shown), async () => {
    if (await shown.isVisible()) return true;
    await page.clock.fastForward(10_000);
    return false;
  });
}

/** Checks that apply to every page, whatever the subject of its test. */
export function watch(
  page: Page,
  url: string,
): Pick<DashboardPage, 'faults' | 'loaded' | 'strangers'> {
  const faults: string[] = [];
  const loaded: string[] = [];
  const strangers = new Set<string>();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (entry) => {
    // Chromium's own view of a plain text breaks the policy that the text came with.
    if (new URL(page.url()).origin !== url) return;
    // The browser logs each response above 399; the test decides whether it was expected.
    if (entry.type() === 'error' && !entry.text().startsWith('Failed to load resource')) {
      faults.push(entry.text());
    }
  });
  page.on('response', (response) => {
    loaded.push(response.url());
    const isPart = ['script', 'stylesheet', 'font', 'image'].includes(
      response.request().resourceType(),
    );
    if (isPart && response.status() >= 400) faults.push(`${response.status()} ${response.url()}`);
  });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (!['data:', 'blob:'].includes(protocol) && origin !== url) strangers.add(origin);
  });
  return { faults, loaded, strangers };
}

export function newAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}
