// Wallet sign-in (EIP-4361), and the token gate.

import { inTime } from '../../base/async/in-time.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Body } from '../../protocol/routes.ts';
import type { Actor } from '../ports/account.ts';
import { wireError } from '../ports/errors.ts';
import type { Challenge, RateCount } from '../ports/sign-in.ts';
import { type Deps, strangersQueue } from './deps.ts';
import { accountSuspended, newSession } from './sessions.ts';
import {
  createChallenge,
  createDevice,
  isFor,
  type Purpose,
  readChallenge,
  readDevice,
} from './sign-in-messages.ts';

/** What an anonymous caller sends. */
interface Caller {
  /** The prefix of its address (`sourceOf`). The work of one source is done one call at a time. */
  source: string;
  /** The cookie of a device on which a wallet signed in before. */
  device: string | null;
}

interface SignatureInput extends Caller {
  address: string;
  signature: string;
  /** The signed message, from the body or the challenge cookie; null if the caller has neither. */
  message: string | null;
  by: Actor;
}

/** How long the recovery of a signer takes. */
const RECOVERY_MS = 3;

/** Challenges that a signature is checked with in one turn. */
const RECOVERIES_PER_TURN = 8;

/**
 * The two steps of a wallet's sign-in. Each kind of work that anonymous callers cause has a queue, in which the sources
 * take turns: writes of challenges, recoveries of signers in a thread, calls of contract wallets, and reads of
 * balances.
 */
export function createSignIn(deps: Deps) {
  const { store, chain, settings } = deps;
  const queue = (atOnce: number) => strangersQueue({ atOnce });
  const writes = queue(8);
  const recoveries = queue(1);
  const contractCalls = queue(4);
  const gateReads = queue(4);

  /** Checks the challenges in several turns, so that other sources wait as long for many as for a few. */
  async function recover(challenges: readonly Challenge[], signature: Hex, { source }: Caller) {
    for (let at = 0; at < challenges.length; at += RECOVERIES_PER_TURN) {
      const some = challenges.slice(at, at + RECOVERIES_PER_TURN);
      const end = await recoveries.take(source, { size: some.length });
      try {
        for (const challenge of some) {
          const wallet = await chain.recoverWallet(challenge.message, signature);
          if (wallet === challenge.wallet) return challenge;
        }
      } finally {
        // The thread rests for about as long as it worked.
        setTimeout(end, RECOVERY_MS * some.length);
      }
    }
    return null;
  }

  /** The open challenge that was signed, or null. Signatures that can be checked locally never reach the chain. */
  async function findSigned(wallet: string, input: SignatureInput, purpose: Purpose) {
    const signature = input.signature as Hex; // Validated by the route's schema.
    const { message, source } = input;
    const returned = message === null ? null : await readChallenge(deps, message, wallet);
    const asReturned = returned && (await recover([returned], signature, input));
    const kept = asReturned === null ? await store.openChallenges(wallet, source) : [];
    const likeliest = returned ?? kept[0];
    if (likeliest === undefined) return null;
    const others = kept.filter(({ nonce }) => nonce !== returned?.nonce);
    const signed = asReturned ?? (await recover(others, signature, input));
    if (signed !== null) return isFor(signed, purpose, settings.baseUrl) ? signed : null;
    // Each contract check costs the operator RPC calls, so a request gets only one, for the most likely challenge.
    if (!isFor(likeliest, purpose, settings.baseUrl)) return null;
    const isSigned = await contractCalls.run(source, () =>
      chain.isContractSignature(wallet, likeliest.message, signature),
    );
    return isSigned ? likeliest : null;
  }

  /** Throws `invalid_signature`. */
  async function requireSigned(wallet: string, input: SignatureInput, purpose: Purpose) {
    const challenge = await findSigned(wallet, input, purpose);
    if (challenge !== null) return challenge;
    const by: Actor = { ...input.by, actor: 'unknown' };
    await writes.run(input.source, () => store.countFailedSignIn(wallet, by));
    throw invalidSignature();
  }

  return {
    /**
     * Creates a challenge for the wallet. `onCount` gets the count of the request first, and may throw. Throws
     * `invalid_address`, `overloaded` and `chain_unavailable`.
     */
    async challenge(
      input: Caller & Body<'createChallenge'>,
      onCount: (count: RateCount) => void,
    ): Promise<Challenge> {
      const wallet = walletOf(deps, input.address);
      return writes.run(input.source, async () => {
        const device = await readDevice(deps, input.device, wallet);
        const { count, now } = await store.countChallenge(wallet, device);
        onCount(count);
        const challenge = await createChallenge(deps, { wallet, now, ...input });
        await store.saveChallenge(challenge, input.source);
        return challenge;
      });
    },

    /**
     * Opens a session, and the account if it is new. Only a successful sign-in spends a challenge, so that invalid
     * signatures and other people's challenges do not lock out the owner; the audit log counts invalid ones. Throws
     * `invalid_address`, `invalid_signature`, `signup_refused`, `account_suspended`, `overloaded`, and
     * `chain_unavailable` if the chain must decide and cannot be read.
     */
    async signIn(input: SignatureInput) {
      const wallet = walletOf(deps, input.address);
      const challenge = await requireSigned(wallet, input, 'sign_in');
      const holds = await gateReads.run(input.source, () =>
        inTime(SIGN_IN_GATE_MS, meetsGate(deps, wallet), null),
      );
      const now = deps.clock.now();
      const { token, session } = newSession(now);
      const outcome = await store.signIn({
        challenge,
        session,
        mayOpen: holds === true || settings.signup.mode === 'open',
        grant: grantOf(deps, holds),
        now,
        by: input.by,
      });
      if (outcome === 'challenge_spent') throw invalidSignature();
      if (outcome === 'signup_refused') throw signupRefused(holds);
      if (outcome === 'account_suspended') throw accountSuspended();
      return { token, wallet, holds: holds === true, device: await createDevice(deps, wallet) };
    },

    /** Requires that the wallet signed a challenge of the purpose, and spends it. Throws as `signIn`. */
    async requireFreshSignature(input: SignatureInput, purpose: Purpose): Promise<void> {
      const challenge = await requireSigned(input.address, input, purpose);
      if (!(await store.spendChallenge(challenge))) throw invalidSignature();
    },
  };
}

const SIGN_IN_GATE_MS = 5_000;
const DISPLAY_GATE_MS = 2_000;
const GATE_KEPT_MS = 10_000;

/** Reads the gate for display: false if a slow chain does not respond in time. */
export type GateReader = (wallet: string) => Promise<boolean>;

/**
 * Reads the chain at most once in 10 s per wallet, shared by concurrent calls. Sign-in uses `meetsGate`, never this.
 */
export function createGateReader(deps: Deps): GateReader {
  // In the order in which they started.
  const reads = new Map<string, { startedAt: number; holds: Promise<boolean | null> }>();

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
    return (await inTime(DISPLAY_GATE_MS, read.holds, null)) === true;
  };
}

/** A grant also requires the token; otherwise one person could collect grants with many wallets. */
function grantOf({ settings: { signup } }: Deps, holds: boolean | null) {
  const isEmpty = signup.anchors === 0 && signup.gasWei === 0n;
  return holds === true && !isEmpty ? signup : null;
}

function walletOf({ chain }: Deps, address: string): string {
  const wallet = chain.checksumAddress(address);
  if (wallet === null)
    throw wireError(
      'invalid_address',
      'address must be an EVM wallet address. If its letters are in both cases, they must have the EIP-55 checksum.',
    );
  return wallet;
}

function invalidSignature() {
  const message =
    'The signature matches no open challenge of this wallet. Request a new challenge.';
  return wireError('invalid_signature', message);
}

function signupRefused(holds: boolean | null) {
  if (holds === null) {
    return wireError('chain_unavailable', 'The balance of the wallet cannot be read now.');
  }
  const message = 'The wallet does not hold the token that a new account requires.';
  return wireError('signup_refused', message);
}

/** Whether the wallet meets the token requirement: true if there is none, null if the balance cannot be read. */
async function meetsGate({ chain, settings }: Deps, wallet: string): Promise<boolean | null> {
  if (settings.gate === null) return true;
  try {
    const balance = await chain.tokenBalance(settings.gate.token, wallet);
    return balance >= settings.gate.minBalance;
  } catch {
    return null;
  }
}
