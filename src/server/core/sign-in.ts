// Wallet sign-in (EIP-4361), and the token gate.

import { randomBytes } from 'node:crypto';
import { SiweMessage } from 'siwe';
import { v7 as newId } from 'uuid';
import { inTime } from '../../base/in-time.ts';
import type { Hex } from '../../proof/bytes.ts';
import { limits } from '../../protocol/limits.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { RateCount } from '../ports/rate-count.ts';
import type { Challenge, SignIn } from '../ports/sign-in.ts';
import type { Deps } from './deps.ts';
import { anchoringChainId } from './operations.ts';
import { hashToken } from './sessions.ts';

const STATEMENT = 'Sign in to the robot task proof service. This is free and sends no transaction.';

/** Counts a challenge request of the wallet. Throws `invalid_address`. */
export async function countChallenge(
  deps: Deps,
  address: string,
): Promise<{ wallet: string; count: RateCount }> {
  const wallet = walletOf(deps, address);
  return { wallet, count: await deps.store.countChallenge(wallet) };
}

/**
 * Creates a message for the wallet to sign, valid until it expires. Domain and URI come only from the settings. Throws
 * `chain_unavailable` if no chain id is given and the anchoring chain is unknown.
 */
export async function createChallenge(
  deps: Deps,
  wallet: string,
  chainId: number | undefined,
): Promise<Challenge> {
  const { origin, host } = new URL(deps.settings.baseUrl);
  const createdAt = deps.clock.now();
  const expiresAt = createdAt + limits.challengeLifetimeMs;
  const nonce = randomBytes(16).toString('hex');
  const message = new SiweMessage({
    domain: host,
    address: wallet,
    statement: STATEMENT,
    uri: origin,
    version: '1',
    chainId: chainId ?? (await anchoringChainId(deps)),
    nonce,
    issuedAt: formatTimestamp(createdAt),
    expirationTime: formatTimestamp(expiresAt),
  }).prepareMessage();
  const challenge = { nonce, wallet, message, createdAt, expiresAt };
  await deps.store.saveChallenge(challenge);
  return challenge;
}

interface SignatureInput {
  address: string;
  signature: string;
  /** Nonce of the caller's challenge, if the caller still has it. */
  nonce: string | null;
}

/**
 * Opens a session, and the account if it is new. Only a successful sign-in spends a challenge, so that invalid
 * signatures and other people's challenges do not lock out the owner. Throws `invalid_address`, `invalid_signature`,
 * `signup_refused`, and `chain_unavailable` if only a contract wallet could have signed and the chain cannot be read.
 */
export async function signIn(
  deps: Deps,
  input: SignatureInput,
): Promise<{ token: string; wallet: string; holds: boolean }> {
  const wallet = walletOf(deps, input.address);
  const challenge = await findSignedChallenge(deps, wallet, input);
  if (challenge === null) throw invalidSignature();
  const holds = await meetsGate(deps, wallet);
  const token = randomBytes(32).toString('hex');
  const now = deps.clock.now();
  const outcome = await deps.store.signIn({
    nonce: challenge.nonce,
    wallet,
    session: {
      id: newId(),
      tokenHash: hashToken(token),
      createdAt: now,
      expiresAt: now + limits.sessionLifetimeMs,
    },
    signup: signupOf(deps, holds),
    now,
  });
  if (outcome === 'challenge_spent') throw invalidSignature();
  if (outcome === 'signup_refused') {
    throw wireError(
      'signup_refused',
      'The wallet does not hold the token that a new account requires, or its balance cannot be read now.',
    );
  }
  return { token, wallet, holds };
}

const GATE_READ_MS = 2_000;
const GATE_KEPT_MS = 10_000;

/** Reads the gate for display: false if a slow chain does not respond in time. */
export type GateReader = (wallet: string) => Promise<boolean>;

/**
 * Reads the chain at most once in 10 s per wallet, shared by concurrent calls. Sign-in uses `meetsGate`, never this.
 */
export function createGateReader(deps: Deps): GateReader {
  // In the order in which they started.
  const reads = new Map<string, { startedAt: number; holds: Promise<boolean> }>();

  function forgetOld(now: number): void {
    for (const [wallet, { startedAt }] of reads) {
      const age = now - startedAt;
      if (age >= 0 && age < GATE_KEPT_MS) return;
      reads.delete(wallet);
    }
  }

  return async (wallet) => {
    if (deps.settings.gate === null) return true;
    const now = deps.clock.now();
    forgetOld(now);
    const read = reads.get(wallet) ?? { startedAt: now, holds: meetsGate(deps, wallet) };
    reads.set(wallet, read);
    return inTime(GATE_READ_MS, read.holds, false);
  };
}

/** The open challenge that was signed, or null. Signatures that can be checked locally never reach the chain. */
async function findSignedChallenge(
  { store, chain, clock, settings }: Deps,
  wallet: string,
  { nonce, signature }: SignatureInput,
): Promise<Challenge | null> {
  const hex = signature as Hex; // Validated by the route's schema.
  const challenges = await store.openChallenges(
    nonce === null ? { wallet, limit: limits.challengesTried } : { nonce, wallet },
    clock.now(),
  );
  const ownOrNull = (challenge: Challenge) =>
    isForService(challenge, settings.baseUrl) ? challenge : null;
  for (const challenge of challenges) {
    if ((await chain.recoverWallet(challenge.message, hex)) === wallet) return ownOrNull(challenge);
  }
  // Each contract check costs the operator RPC calls, so a request gets only one, for the most likely challenge.
  const [likeliest] = challenges;
  if (likeliest === undefined || ownOrNull(likeliest) === null) return null;
  const signed = await chain.isContractSignature(wallet, likeliest.message, hex);
  return signed ? likeliest : null;
}

/** Whether the message names this service: its address may have changed since the message was made. */
function isForService({ message }: Challenge, baseUrl: string): boolean {
  const { origin, host } = new URL(baseUrl);
  const { domain, uri } = new SiweMessage(message);
  return domain === host && uri === origin;
}

/** A grant also requires the token; otherwise one person could collect grants with many wallets. */
function signupOf({ settings: { signup } }: Deps, holds: boolean): SignIn['signup'] {
  if (holds) return { anchors: signup.anchors, gasWei: signup.gasWei };
  return signup.mode === 'gate' ? null : { anchors: 0, gasWei: 0n };
}

function walletOf({ chain }: Deps, address: string): string {
  const wallet = chain.checksumAddress(address);
  if (wallet === null) throw wireError('invalid_address', 'address must be an EVM wallet address.');
  return wallet;
}

function invalidSignature() {
  return wireError(
    'invalid_signature',
    'The signature matches no open challenge of this wallet. Request a new challenge.',
  );
}

/** Whether the wallet meets the token requirement: true if there is none, false if the balance cannot be read. */
async function meetsGate({ chain, settings }: Deps, wallet: string): Promise<boolean> {
  if (settings.gate === null) return true;
  try {
    const balance = await chain.tokenBalance(settings.gate.token, wallet);
    return balance >= settings.gate.minBalance;
  } catch {
    return false;
  }
}
