import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium as playwright } from 'playwright-core';
import type { PrivateKeyAccount } from 'viem/accounts';

/** Chromium from npm, or that of CHROMIUM_PATH. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? (await chromium.executablePath());
  return playwright.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
}

export interface WalletOptions {
  name?: string;
  /** Whether the person says no to signing. */
  refuses?: boolean;
}

/** An EIP-6963 wallet in every page, which signs with a real key, outside of the page. */
export async function installWallet(
  context: BrowserContext,
  account: PrivateKeyAccount,
  { name = 'Test wallet', refuses = false }: WalletOptions = {},
): Promise<void> {
  await context.exposeFunction('signWithTestWallet', (raw: `0x${string}`) =>
    account.signMessage({ message: { raw } }),
  );
  await context.addInitScript(
    `(${announceWallet})(${JSON.stringify({ name, refuses, address: account.address })})`,
  );
}

/** Runs in the page. */
const announceWallet = `({ name, refuses, address }) => {
  const request = async ({ method, params }) => {
    if (method === 'eth_requestAccounts') return [address];
    if (method === 'eth_chainId') return '0x7a69';
    if (method !== 'personal_sign') throw Object.assign(new Error(method), { code: 4200 });
    if (refuses) throw Object.assign(new Error('no'), { code: 4001 });
    return window.signWithTestWallet(params[0]);
  };
  const info = { uuid: crypto.randomUUID(), name, icon: 'data:image/svg+xml,<svg/>', rdns: 'test.wallet' };
  const announce = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', {
    detail: Object.freeze({ info, provider: { request } }),
  }));
  window.addEventListener('eip6963:requestProvider', announce);
  announce();
}`;
