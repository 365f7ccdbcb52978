import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium as playwright } from 'playwright-core';
import type { PrivateKeyAccount } from 'viem/accounts';
import { askRun } from './test-run.ts';

/** Chromium from npm, or that of CHROMIUM_PATH. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? (await chromiumPath());
  return playwright.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
}

let shared: Promise<Browser> | undefined;

/** The one of this worker, which ends with it: a test opens contexts of its own. */
export async function sharedBrowser(): Promise<Browser> {
  if (!(await shared?.catch(() => null))?.isConnected()) shared = launchBrowser();
  return shared as Promise<Browser>;
}

/** Unpacked once in a run. */
async function chromiumPath(): Promise<string> {
  if (!process.env.VITEST) return chromium.executablePath();
  return (await askRun<{ path: string }>('chromium')).path;
}

export interface WalletOptions {
  name?: string;
  /** Whether the person says no to signing. */
  refuses?: boolean;
  /** Signs in the place of the account that it was asked for. */
  signsWith?: PrivateKeyAccount;
  /** The account that it is on once it has signed. */
  switchesTo?: PrivateKeyAccount;
  /** An account that it has beside its own, for `window.testWallet.switchAccount`. */
  alsoSigns?: PrivateKeyAccount;
  /** Whether each signature waits for `window.testWallet.release()`. */
  holds?: boolean;
  /** Whether the person says no to another network. */
  refusesChain?: boolean;
  /** Another wallet beside it, by its name. */
  beside?: string;
  /** Where it is, the only chain that it knows (default: the development chain). */
  chainId?: `0x${string}`;
}

/** An EIP-6963 wallet in every page, which signs with real keys, outside of the page. */
export async function installWallet(
  context: BrowserContext,
  account: PrivateKeyAccount,
  options: WalletOptions = {},
): Promise<void> {
  const { name = 'Test wallet', refuses = false, holds = false, chainId = '0x7a69' } = options;
  const known = [account, options.switchesTo, options.alsoSigns].filter((one) => one !== undefined);
  await context.exposeFunction('signWithTestWallet', (raw: `0x${string}`, address: string) => {
    const asked = known.find((one) => one.address.toLowerCase() === address.toLowerCase());
    return (options.signsWith ?? asked ?? account).signMessage({ message: { raw } });
  });
  const settings = {
    name,
    refuses,
    holds,
    chainId,
    refusesChain: options.refusesChain ?? false,
    beside: options.beside ?? null,
    address: account.address,
    switchesTo: options.switchesTo?.address ?? null,
  };
  await context.addInitScript(`(${announceWallet})(${JSON.stringify(settings)})`);
}

/** Runs in the page. */
const announceWallet = `({ name, refuses, holds, chainId, refusesChain, beside, address, switchesTo }) => {
  let account = sessionStorage.getItem('test-wallet-account') ?? address;
  const chains = [chainId];
  const listeners = { accountsChanged: new Set(), chainChanged: new Set() };
  const emit = (event, value) => listeners[event].forEach((listener) => listener(value));
  const fail = (code, message) => { throw Object.assign(new Error(message), { code }); };
  const held = Promise.withResolvers();
  const switchAccount = (to) => {
    account = to;
    sessionStorage.setItem('test-wallet-account', to);
    emit('accountsChanged', [to]);
  };
  const answers = {
    eth_requestAccounts: () => [account],
    eth_accounts: () => [account],
    eth_chainId: () => chainId,
    async personal_sign([message, signer]) {
      if (refuses) fail(4001, 'no');
      if (holds) await held.promise;
      const signature = await window.signWithTestWallet(message, signer);
      if (switchesTo) switchAccount(switchesTo);
      return signature;
    },
    wallet_switchEthereumChain([{ chainId: to }]) {
      if (!chains.includes(to)) fail(4902, 'unknown chain');
      chainId = to;
      emit('chainChanged', to);
      return null;
    },
    wallet_addEthereumChain([chain]) {
      if (refusesChain) fail(4001, 'no');
      window.testWallet.added = chain;
      chains.push(chain.chainId);
      return null;
    },
  };
  const provider = {
    request: async ({ method, params }) => (answers[method] ?? (() => fail(4200, method)))(params),
    on: (event, listener) => listeners[event]?.add(listener),
    removeListener: (event, listener) => listeners[event]?.delete(listener),
  };
  window.testWallet = { release: held.resolve, switchAccount };
  const icon = 'data:image/svg+xml,' + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#e2761b"/></svg>');
  const info = { uuid: crypto.randomUUID(), name, icon, rdns: 'test.wallet' };
  const infos = [info];
  if (beside) infos.push({ ...info, uuid: crypto.randomUUID(), name: beside, rdns: 'beside.wallet' });
  const announce = () => infos.forEach((one) => {
    window.dispatchEvent(new CustomEvent('eip6963:announceProvider', {
      detail: Object.freeze({ info: one, provider }),
    }));
  });
  window.addEventListener('eip6963:requestProvider', announce);
  announce();
}`;
