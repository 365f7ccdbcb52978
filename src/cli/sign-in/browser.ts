// Signs in through a browser, on this machine or on another one.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../base/svc-error.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../program/context.ts';
import { listenForCode } from './callback.ts';
import type { SignedIn } from './signature.ts';

const PATIENCE_MS = 5 * 60_000;

/**
 * Signs in on the service's page in a browser of this machine, by a loopback redirect and PKCE
 * (RFC 8252, RFC 7636). Rejects with `sign_in_denied`, `sign_in_timeout`.
 */
export async function signInByBrowser(
  context: Context,
  guest: Client,
  url: string,
): Promise<SignedIn> {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(32).toString('base64url');
  const callback = await listenForCode(state);
  const giveUp = new AbortController();
  try {
    const page = signInPage(url, verifier, { state, port: String(callback.port) });
    printPage(context, page, 'Opening the browser. If it does not open, go to');
    openBrowser(page.href);
    const wait = () =>
      Promise.race([
        callback.code,
        sleep(PATIENCE_MS, null, { signal: giveUp.signal }).then(() => {
          throw new SvcError('sign_in_timeout', 'The sign-in was not completed within 5 minutes.');
        }),
      ]);
    const code = await context.wait('Waiting for the browser', wait);
    return await redeem(guest, code, verifier);
  } finally {
    giveUp.abort();
    callback.close();
  }
}

/** Signs in with a browser on another machine: its page shows a code to type in here. */
export async function signInByCode(
  context: Context,
  guest: Client,
  url: string,
): Promise<SignedIn> {
  const verifier = randomBytes(32).toString('base64url');
  const prompt = await context.prompt();
  printPage(context, signInPage(url, verifier, {}), 'In a browser, go to');
  return redeem(guest, (await prompt.secret('Code shown in the browser: ')).trim(), verifier);
}

function signInPage(url: string, verifier: string, query: Record<string, string>): URL {
  const page = new URL('/cli-login', url);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  page.search = new URLSearchParams({ challenge, ...query, name: hostname() }).toString();
  return page;
}

/** Printed with --quiet too, because the sign-in does not work without it. */
function printPage({ output }: Context, page: URL, where: string): void {
  const shown = page.searchParams.get('challenge')?.slice(0, 8) ?? '';
  process.stderr.write(
    `${where}\n  ${page.href}\nThe page must show ${output.messageColors.bold(shown)}.\n`,
  );
}

async function redeem(guest: Client, code: string, verifier: string): Promise<SignedIn> {
  const { body } = await guest.call('redeemCliCode', { body: { code, verifier } });
  return { wallet: body.wallet, token: body.token, expiresAt: body.expires_at };
}

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Ignores errors: the address is printed, so the person can open it without this. */
function openBrowser(href: string): void {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open'];
  const opener = spawn(command, [...args, href], { stdio: 'ignore', detached: true });
  opener.on('error', () => {});
  opener.unref();
}
