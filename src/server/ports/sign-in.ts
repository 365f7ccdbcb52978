// What the use cases ask of the store about sign-in, sessions and CLI codes.
import type { RateCount } from './rate-count.ts';

export interface Challenge {
  /** 128 random bits in hex; the nonce of the message and the value of the challenge cookie. */
  nonce: string;
  wallet: string;
  /** The exact text that is signed. */
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
  /** What a new account starts with, or null where this wallet may not open one. */
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
  /** Makes the challenge findable; forgets expired ones, and the oldest beyond the limit of open ones. */
  saveChallenge(challenge: Challenge): Promise<void>;
  /** Only challenges that have not expired at `now`. Newest first. */
  openChallenges(
    by: { nonce: string; wallet: string } | { wallet: string; limit: number },
    now: number,
  ): Promise<Challenge[]>;
  /**
   * Spends the challenge, opens the account if it is new (with its grant in the ledger) and the
   * session, and ends the account's oldest session beyond its limit, in one commit. `challenge_spent`: the challenge was used, expired or is another
   * wallet's. `signup_refused`: a new account, and `signup` is null; the challenge stays open.
   */
  signIn(signIn: SignIn): Promise<'signed_in' | 'challenge_spent' | 'signup_refused'>;
  /** The live session of that token, or null; `counted` also measures one mutation of its account. */
  authenticateSession(
    tokenHash: string,
    counted: boolean,
    now: number,
  ): Promise<{ session: SessionRecord; count: RateCount } | null>;
  /** Ends the session at once. Harmless when there is none. */
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
  /** The session that makes it. */
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
  /** Those that have not expired at `now`, newest first (ids are UUIDv7); `before` is the last id of the page before. */
  listSessions(
    wallet: string,
    now: number,
    limit: number,
    before: string | null,
  ): Promise<ListedSession[]>;
  /** Ends the account's session of this id at once; false when it has none. */
  endSession(wallet: string, id: string): Promise<boolean>;
  /**
   * `session_ended`: the session ended since it was authenticated. `not_by_wallet`: a code opened it.
   * Forgets expired codes.
   */
  saveCliCode(code: NewCliCode): Promise<'saved' | 'session_ended' | 'not_by_wallet'>;
  /**
   * Spends the code, whatever comes of it, and opens the session of its account if the challenge is the
   * code's own, neither code nor the session that made it has ended, in one commit. Else null, for an
   * unknown code without any write. Ends the account's oldest session beyond its limit.
   */
  redeemCliCode(attempt: CliCodeAttempt): Promise<{ wallet: string } | null>;
}
