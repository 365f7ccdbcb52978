// The store's contract for sign-in, sessions and CLI codes.
import type { RateCount } from './rate-count.ts';

export interface Challenge {
  /** 128 random bits in hex: the nonce in the message and the value of the challenge cookie. */
  nonce: string;
  wallet: string;
  /** The exact text that the wallet signs. */
  message: string;
  createdAt: number;
  expiresAt: number;
}

export interface NewSession {
  id: string;
  /** SHA-256 of the session token, hex. The token itself is never stored. */
  tokenHash: string;
  createdAt: number;
  expiresAt: number;
}

export interface SignIn {
  nonce: string;
  wallet: string;
  session: NewSession;
  /** The grant of a new account; null if this wallet may not open one. */
  signup: { anchors: number; gasWei: bigint } | null;
  now: number;
}

export interface SessionRecord {
  id: string;
  wallet: string;
  createdAt: number;
  expiresAt: number;
}

export interface SignInStore {
  /** Counts one challenge request of the wallet. */
  countChallenge(wallet: string): Promise<RateCount>;
  /** Saves the challenge. Deletes expired challenges, and the oldest ones beyond the limit of open challenges. */
  saveChallenge(challenge: Challenge): Promise<void>;
  /** Challenges that have not expired at `now`, newest first. */
  openChallenges(
    by: { nonce: string; wallet: string } | { wallet: string; limit: number },
    now: number,
  ): Promise<Challenge[]>;
  /**
   * In one commit: spends the challenge, opens the account if it is new (with its grant in the ledger), opens the
   * session, and ends the account's oldest session beyond the limit. `challenge_spent`: the challenge was used, has
   * expired or belongs to another wallet. `signup_refused`: the account is new and `signup` is null; the challenge
   * stays open.
   */
  signIn(signIn: SignIn): Promise<'signed_in' | 'challenge_spent' | 'signup_refused'>;
  /** The live session with this token, or null. `counted` also counts one mutation of its account. */
  authenticateSession(
    tokenHash: string,
    counted: boolean,
    now: number,
  ): Promise<{ session: SessionRecord; count: RateCount } | null>;
  /** Ends the session at once. Does nothing if there is none. */
  revokeSession(tokenHash: string): Promise<void>;
}

export type SignInMethod = 'wallet' | 'cli_code';

export interface ListedSession {
  id: string;
  signedInWith: SignInMethod;
  createdAt: number;
  expiresAt: number;
}

export interface NewCliCode {
  /** SHA-256 of the code, hex. The code itself is never stored. */
  codeHash: string;
  /** Base64url of the SHA-256 of the verifier. */
  challenge: string;
  /** The session that created the code. */
  sessionId: string;
  createdAt: number;
  expiresAt: number;
}

export interface CliCodeAttempt {
  codeHash: string;
  /** Computed from the verifier. */
  challenge: string;
  session: NewSession;
  now: number;
}

export interface SessionStore {
  /**
   * Sessions that have not expired at `now`, newest first (ids are UUIDv7). `before` is the last id of the previous
   * page.
   */
  listSessions(
    wallet: string,
    now: number,
    limit: number,
    before: string | null,
  ): Promise<ListedSession[]>;
  /** Ends the account's session with this id at once; false if there is none. */
  endSession(wallet: string, id: string): Promise<boolean>;
  /**
   * Saves the code, and deletes expired ones. `session_ended`: the session has ended since it was authenticated.
   * `not_by_wallet`: the session was itself opened by a code.
   */
  saveCliCode(code: NewCliCode): Promise<'saved' | 'session_ended' | 'not_by_wallet'>;
  /**
   * In one commit: spends the code, in any case, and opens a session of its account if the challenge matches the code's
   * and neither the code nor the session that created it has ended. Null otherwise; an unknown code writes nothing.
   * Ends the account's oldest session beyond the limit.
   */
  redeemCliCode(attempt: CliCodeAttempt): Promise<{ wallet: string } | null>;
}
