// `svc login`: signs a wallet in and keeps the session in a profile.

import { showTime } from '../../base/output/table.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Client } from '../../client/client.ts';
import { type Context, warnOfToken } from '../context.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Config, ConfigFile } from '../program/config-file.ts';
import { keyFileOptions } from '../program/options.ts';
import { givenUrl, namedProfile, serviceOrigin } from '../program/profiles.ts';
import type { KeyFile } from '../sign-in/key-file.ts';
import { manualSigner, openSession, type SignedIn } from '../sign-in/signature.ts';

export const loginCommand: CommandSpec = {
  path: 'login',
  summary: 'Sign in to a service with a wallet',
  details: `svc prints a user code, and opens a page of the service where you enter it. svc saves the session after you confirm the wallet. With --address, svc accepts only this wallet, and does not ask.

Without a browser, --key-file signs with a key, and --manual prints the message and reads the signature, for example of a hardware wallet.`,
  arguments: [{ syntax: '[url]', summary: 'origin of the service (default: from the profile)' }],
  options: [
    ...keyFileOptions,
    { flags: '--manual', summary: 'print the message and read the signature' },
    {
      flags: '--address <address>',
      summary:
        'accept only this wallet (default: svc asks you to confirm the wallet; with --manual, svc asks for an address)',
    },
    {
      flags: '--no-browser',
      summary: 'do not open a browser; open the page yourself and enter the code',
    },
  ],
  examples: [
    'svc login https://svc.example.org',
    'svc login https://svc.example.org --key-file ~/.keys/ops.json --profile ops',
    'svc login --manual --address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  ],
  async run(context, input: LoginInput) {
    refuseMixture(input);
    const url = await urlOf(context, input.url);
    const config = await context.config();
    const guest = context.client(url);
    const signedIn = await signIn(context, guest, url, input);
    await requireWallet(context, url, signedIn, input);
    const name = await keep(config, url, signedIn, namedProfile(context.options, context.env));
    const { wallet, expiresAt } = signedIn;
    await context.output.record({ profile: name, url, wallet, expires_at: expiresAt }, [
      ['wallet', wallet],
      ['service', url],
      ['profile', name],
      ['expires', context.output.isTerminal ? showTime(expiresAt) : expiresAt],
    ]);
    warnOfToken(context);
  },
};

interface LoginInput extends Partial<KeyFile> {
  url?: string;
  manual?: true;
  address?: string;
  /** False with --no-browser. */
  browser: boolean;
}

function refuseMixture({ keyFile, passwordFile, manual, address, browser }: LoginInput): void {
  const ways = [keyFile !== undefined, manual === true, !browser].filter(Boolean);
  if (ways.length > 1) {
    throw new SvcError('usage', 'Choose one of --key-file, --manual and --no-browser.');
  }
  if (passwordFile !== undefined && keyFile === undefined) {
    throw new SvcError('usage', '--password-file needs --key-file.');
  }
  if (address !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(address)) {
    throw new SvcError('usage', '--address must be an address: 0x and 40 hex digits.');
  }
}

async function urlOf(context: Context, text: string | undefined): Promise<string> {
  if (text === undefined) return (await context.target()).url;
  const url = serviceOrigin(text, context.options.insecureHttp === true);
  const other = givenUrl(context.options, context.env);
  if (other === null || other === url) return url;
  throw new SvcError('usage', `Two services are given: ${url} and ${other}.`, {
    hint: 'Give one address (SVC_URL counts too).',
  });
}

async function signIn(context: Context, guest: Client, url: string, input: LoginInput) {
  const { keyFile, passwordFile } = input;
  if (keyFile !== undefined) {
    const { keyFileSigner } = await import('../sign-in/key-file.ts');
    const signer = await keyFileSigner(context, { keyFile, ...(passwordFile && { passwordFile }) });
    return openSession(guest, url, signer);
  }
  if (input.manual && !context.options.input) {
    throw new SvcError('usage', 'This sign-in asks for input, which --no-input forbids.', {
      hint: 'Use --key-file.',
    });
  }
  if (input.manual) {
    const ask = async () =>
      (await (await context.prompt()).line('Address of the wallet: ', '--address')).trim();
    return openSession(guest, url, manualSigner(context, input.address ?? (await ask())));
  }
  if (input.address === undefined && !(await context.prompt()).isPossible) {
    throw new SvcError('usage', 'Not a terminal, so you cannot confirm the wallet.', {
      hint: 'Name the wallet with --address, or use --key-file.',
    });
  }
  const { signInByBrowser } = await import('../sign-in/browser.ts');
  return signInByBrowser(context, guest, url, { opens: input.browser });
}

/**
 * Ends the session unless it is of the expected wallet: another person could have entered the code, and would own all
 * that this profile registers. A signature made here proves the wallet. Throws `wrong_wallet`.
 */
async function requireWallet(
  { client, prompt }: Context,
  url: string,
  { wallet, token }: SignedIn,
  { address, keyFile, manual }: LoginInput,
): Promise<void> {
  if (address === undefined && (keyFile !== undefined || manual)) return;
  const isExpected = async () =>
    address === undefined
      ? /^y(es)?$/i.test((await (await prompt()).line(`Sign in as ${wallet}? [y/N] `)).trim())
      : address.toLowerCase() === wallet.toLowerCase();
  try {
    if (await isExpected()) return;
    throw new SvcError('wrong_wallet', `Not signed in as ${wallet}; nothing was saved.`, {
      hint: 'Run svc login again, and enter the code in the browser that has your wallet.',
    });
  } catch (error) {
    await client(url, token).call('signOut');
    throw error;
  }
}

/** Keeps the session in a profile, which becomes the current one. Returns the profile's name. */
async function keep(
  config: ConfigFile,
  url: string,
  { wallet, token, expiresAt }: SignedIn,
  named: string | null,
): Promise<string> {
  let name = '';
  await config.update(({ profiles }) => {
    name = named ?? profileName(profiles, url, wallet);
    const profile = { url, wallet, session: token, expires_at: expiresAt };
    return { current: name, profiles: { ...profiles, [name]: profile } };
  });
  return name;
}

function profileName(profiles: Config['profiles'], url: string, wallet: string): string {
  const own = Object.entries(profiles).find(([, p]) => p.url === url && p.wallet === wallet)?.[0];
  if (own !== undefined) return own;
  const host = new URL(url).host.replace(/[^\w.-]/g, '_');
  return Object.hasOwn(profiles, host) ? `${host}_${wallet.slice(2, 10).toLowerCase()}` : host;
}
