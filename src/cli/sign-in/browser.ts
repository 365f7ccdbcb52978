// Signs in through a browser, on this machine or on another one.
import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../base/svc-error.ts';
import type { Client } from '../../client/client.ts';
import { limits } from '../../protocol/limits.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';
import type { SignedIn } from './signature.ts';

/**
 * Signs in on the service's page, where the person types a code that this terminal shows (RFC 8628). Other users of
 * this machine can read the arguments of the browser's opener, so the address contains no code. Rejects with
 * `sign_in_denied`.
 */
export async function signInByBrowser(
  context: Context,
  guest: Client,
  url: string,
  { opens }: { opens: boolean },
): Promise<SignedIn> {
  const name = Array.from(hostname()).slice(0, limits.nameLength).join('');
  const { body: codes } = await guest.call('startCliSignIn', { body: { name } });
  const page = new URL('/cli-login', url).href;
  // Printed with --quiet too, because the sign-in does not work without it.
  const shown = context.output.messageColors.bold(codes.user_code);
  process.stderr.write(`Open ${page} and enter the code\n  ${shown}\n`);
  if (opens) openBrowser(page);
  return context.wait('Waiting for the browser', () => redeem(guest, codes));
}

/** Asks until the code is allowed, refused or expired; less often while the service cannot answer. */
async function redeem(
  guest: Client,
  { device_code, interval }: Answer<'startCliSignIn'>['body'],
): Promise<SignedIn> {
  const deadline = performance.now() + limits.cliCodeLifetimeMs;
  for (let seconds = interval; ; ) {
    await sleep(seconds * 1000);
    try {
      const { body } = await guest.call('redeemCliCode', { body: { device_code } });
      return { wallet: body.wallet, token: body.token, expiresAt: body.expires_at };
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      if (error.code === 'invalid_code') {
        throw new SvcError('sign_in_denied', 'The code was refused in the browser, or it expired.');
      }
      if (!error.retryable || performance.now() > deadline) throw error;
      if (error.code === 'authorization_pending') continue;
      seconds = Math.max(seconds + interval, Number(error.details.retry_after ?? 0));
    }
  }
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
