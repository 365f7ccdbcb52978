// The messages that wallets sign to sign in (EIP-4361), and the cookies of known devices.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SiweMessage } from 'siwe';
import { limits } from '../../protocol/limits.ts';
import type { Body } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { Challenge } from '../ports/sign-in.ts';
import type { Deps } from './deps.ts';
import { anchoringChainId } from './operations.ts';

/** What a wallet agrees to with its signature. */
const statements = {
  sign_in: 'Sign in to the robot task proof service. This is free and sends no transaction.',
  export_account: 'Export the data of my account at the robot task proof service.',
  delete_account:
    'Delete my account at the robot task proof service, with its robots, tasks and evidence.',
};
export type Purpose = keyof typeof statements;

type NewChallenge = Pick<Challenge, 'wallet'> &
  Pick<Body<'createChallenge'>, 'chainId' | 'purpose'> & { now: number };

/**
 * Creates a message for the wallet to sign, valid until it expires. Domain and URI come only from the settings. The
 * second half of the nonce is a MAC of the message with the first half alone: it proves that the service made the
 * message. Throws `chain_unavailable` if no chain id is given and the anchoring chain is
 * unknown.
 */
export async function createChallenge(
  deps: Deps,
  { wallet, now, chainId, purpose = 'sign_in' }: NewChallenge,
): Promise<Challenge> {
  const { origin, host } = new URL(deps.settings.baseUrl);
  const expiresAt = now + limits.challengeLifetimeMs;
  const siwe = new SiweMessage({
    domain: host,
    address: wallet,
    statement: statements[purpose],
    uri: origin,
    version: '1',
    chainId: chainId ?? (await anchoringChainId(deps)),
    nonce: randomBytes(16).toString('hex'),
    issuedAt: formatTimestamp(now),
    expirationTime: formatTimestamp(expiresAt),
  });
  const key = await deps.store.challengeKey();
  siwe.nonce += macOf(key, siwe.prepareMessage());
  return { nonce: siwe.nonce, wallet, message: siwe.prepareMessage(), expiresAt };
}

/** The open challenge of a message that this service made for the wallet; null for any other text. */
export async function readChallenge({ store }: Deps, message: string, wallet: string) {
  const [line, random, mac] = /^Nonce: ([0-9a-f]{32})([0-9a-f]{32})$/m.exec(message) ?? [];
  if (line === undefined || random === undefined || mac === undefined) return null;
  const sealed = message.replace(line, `Nonce: ${random}`);
  if (!isEqual(mac, macOf(await store.challengeKey(), sealed))) return null;
  // The service wrote the message, so its lines need no grammar, which would take a millisecond.
  const [, address] = message.split('\n', 2);
  const [, expires = ''] = /^Expiration Time: (.+)$/m.exec(message) ?? [];
  const challenge = { nonce: random + mac, wallet, message, expiresAt: Date.parse(expires) };
  return address === wallet && (await store.isChallengeOpen(challenge)) ? challenge : null;
}

/** Whether the message is for this purpose and names this service, whose address may have changed since it was made. */
export function isFor({ message }: Challenge, purpose: Purpose, baseUrl: string): boolean {
  const { origin, host } = new URL(baseUrl);
  const { domain, uri, statement } = new SiweMessage(message);
  return domain === host && uri === origin && statement === statements[purpose];
}

/** A cookie for a device on which the wallet signed in: its challenges are counted separately. */
export async function createDevice({ store }: Deps, wallet: string): Promise<string> {
  const id = randomBytes(16).toString('hex');
  return id + macOf(await store.challengeKey(), deviceText(id, wallet));
}

/** The id of a device on which the wallet has signed in; null for any other text. */
export async function readDevice({ store }: Deps, cookie: string | null, wallet: string) {
  const [, id, mac] = /^([0-9a-f]{32})([0-9a-f]{32})$/.exec(cookie ?? '') ?? [];
  if (id === undefined || mac === undefined) return null;
  return isEqual(mac, macOf(await store.challengeKey(), deviceText(id, wallet))) ? id : null;
}

const deviceText = (id: string, wallet: string) => `device ${id} ${wallet}`;

/** 128 bits of an HMAC-SHA256, hex. */
function macOf(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 32);
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
