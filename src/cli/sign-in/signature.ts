// Requests a message for the wallet to sign (ERC-4361), checks it, and exchanges its signature for a session.
import type { SiweMessage } from 'siwe';
import { SvcError } from '../../base/svc-error.ts';
import type { Client } from '../../client/client.ts';
import type { Body } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';

/** A wallet that signs here. */
export interface Signer {
  address: string;
  sign(message: string): Promise<string>;
}

/** A new session. */
export interface SignedIn {
  wallet: string;
  token: string;
  expiresAt: string;
}

/**
 * Requests the message that the wallet must sign to sign in at `url`. Throws `foreign_challenge` if the message is for
 * another origin: a service could pass on the challenge of another service and sign in there as the wallet.
 */
export async function requestMessage(
  guest: Client,
  url: string,
  address: string,
  purpose?: Body<'createChallenge'>['purpose'],
): Promise<string> {
  const { body } = await guest.call('createChallenge', {
    body: { address, ...(purpose && { purpose }) },
  });
  const { origin, host, protocol } = new URL(url);
  const message = await parseMessage(body.message);
  const isOwn =
    message?.domain === host &&
    (message.scheme === undefined || `${message.scheme}:` === protocol) &&
    message.uri === origin &&
    message.address.toLowerCase() === address.toLowerCase();
  if (isOwn) return body.message;
  const [first = ''] = body.message.split('\n');
  throw new SvcError('foreign_challenge', `The sign-in message is not for ${origin}.`, {
    hint:
      host.startsWith('localhost') && message?.domain === host.replace('localhost', '127.0.0.1')
        ? `Use http://${message.domain}.`
        : `Sign in at the service's own address; the message begins: ${first}`,
  });
}

/** Null where the text is not exactly one ERC-4361 message; its grammar has printable ASCII only. */
async function parseMessage(text: string): Promise<SiweMessage | null> {
  const { SiweMessage } = await import('siwe');
  try {
    const message = new SiweMessage(text);
    return message.prepareMessage() === text ? message : null;
  } catch {
    return null;
  }
}

/**
 * A wallet elsewhere: shows the message, by default on stdout, because it must be signed to the byte, and reads the
 * signature. Everything else goes to stderr.
 */
export function manualSigner({ output }: Context, address: string, show = output.line): Signer {
  return {
    address,
    async sign(message) {
      process.stderr.write('Sign this with personal_sign (EIP-191), without the last newline:\n\n');
      show(message);
      process.stderr.write('\n');
      const { readLine } = await import('../input/prompt.ts');
      const signature = (await readLine('Signature (0x…): ')).trim();
      if (/^0x([0-9a-fA-F]{2})*$/.test(signature)) return signature;
      throw new SvcError('usage', 'The signature must be 0x and hex digits.');
    },
  };
}

/** Opens a session for the wallet. */
export async function openSession(
  guest: Client,
  url: string,
  { address, sign }: Signer,
): Promise<SignedIn> {
  const message = await requestMessage(guest, url, address);
  const signed = { address, message, signature: await sign(message) };
  const { body, headers } = await guest.call('verifySignature', { body: signed });
  const cookie = headers.getSetCookie().find((line) => line.startsWith('svc_session=')) ?? '';
  const token = /^svc_session=([0-9a-f]{64});/.exec(cookie)?.[1];
  const seconds = Number(/; *max-age=(\d+)/i.exec(cookie)?.[1] ?? Number.NaN);
  if (token === undefined || Number.isNaN(seconds)) {
    throw new SvcError(
      'unexpected_answer',
      'The service accepted the signature but sent no session.',
    );
  }
  const expiresAt = new Date(Date.now() + seconds * 1000).toISOString();
  return { wallet: body.wallet, token, expiresAt };
}
