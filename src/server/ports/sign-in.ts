// The store's contract for sign-in, sessions, CLI codes and rate limits.
import type { TokenScope } from '../../protocol/tokens.ts';
import type { Actor } from './account.ts';

export interface Challenge {
  /** 128 random bits and a MAC of the message, in hex. */
  nonce: string;
  wallet: string;
  /** The exact text that the wallet signs. */
  message: string;
  expiresAt: number;
}

export interface NewSession extends Pick<SessionRecord, 'id' | 'createdAt' | 'expiresAt'> {
  /** SHA-256 of the session token, hex. The token itself is never stored. */
  tokenHash: string;
}

export interface SignIn {
  challenge: Pick<Challenge, 'nonce' | 'wallet' | 'expiresAt'>;
  session: NewSession;
  /** Whether the wallet may open an account, if it has none. */
  mayOpen: boolean;
  /** The sign-up grant, if the wallet qualifies for it now. It is made once per wallet. */
  grant: SignupGrant | null;
  now: number;
  by?: Actor;
}

export interface SignupGrant {
  anchors: number;
  gasWei: bigint;
  /** Time between the first sign-in that qualifies and the grant; 0 grants at once. */
  delayMs: number;
  /** Maximum number of anchors granted to new accounts in 24 hours; null for no limit. */
  anchorsPerDay: number | null;
}

export type SignInMethod = 'wallet' | 'cli_code' | 'token';

/** A session. An account token is a session with a name and a scope, which are null for all others. */
export interface SessionRecord {
  id: string;
  wallet: string;
  signedInWith: SignInMethod;
  createdAt: number;
  expiresAt: number;
  name: string | null;
  scope: TokenScope | null;
  lastUsedAt: number | null;
  /** Whether the operator suspended the account. */
  isSuspended: boolean;
}

/** An account that calls, with a session or a token. */
export interface AccountCaller extends Pick<SessionRecord, 'id' | 'wallet' | 'signedInWith'> {
  by: Actor;
}

export interface SignInStore {
  /** The key that authenticates challenges and devices: 32 random bytes, replaced when the database is restored. */
  challengeKey(): Promise<Uint8Array>;
  /**
   * Counts one challenge request of the wallet, or of one of its devices. `now` is the time at which the challenge is
   * made: of PostgreSQL's clock, which all instances share.
   */
  countChallenge(wallet: string, device: string | null): Promise<{ count: RateCount; now: number }>;
  /**
   * Keeps the challenge for a caller that will send back neither cookie nor message. Deletes expired challenges, and
   * the oldest ones beyond the limits: per wallet and source, per source, and in total.
   */
  saveChallenge(challenge: Challenge, source: string): Promise<void>;
  /** Whether the challenge has neither expired nor been used. */
  isChallengeOpen(challenge: Pick<Challenge, 'nonce' | 'expiresAt'>): Promise<boolean>;
  /** Spends the challenge; false if it was used or has expired. */
  spendChallenge(challenge: Pick<Challenge, 'nonce' | 'expiresAt'>): Promise<boolean>;
  /** The kept challenges of the wallet, made for the same source, that have not expired; newest first. */
  openChallenges(wallet: string, source: string): Promise<Challenge[]>;
  /**
   * In one commit: spends the challenge, opens the account if it is new, makes the sign-up grant if it is due, opens
   * the session, and ends the account's oldest session beyond the limit. `challenge_spent`: the challenge was used or
   * has expired. `signup_refused`: the account is new and may not be opened; the challenge stays open.
   * `account_suspended`: the operator suspended the account; the challenge stays open.
   */
  signIn(
    signIn: SignIn,
  ): Promise<'signed_in' | 'challenge_spent' | 'signup_refused' | 'account_suspended'>;
  /** The live session with this token, or null. `counted` also counts one mutation of its account. */
  authenticateSession(
    tokenHash: string,
    counted: boolean,
    now: number,
  ): Promise<{ session: SessionRecord; count: RateCount } | null>;
  /** Ends the session at once. Does nothing if there is none. */
  revokeSession(tokenHash: string, by?: Actor): Promise<void>;
}

export interface CliCode {
  /** Name that the machine gave itself. */
  name: string;
  createdAt: number;
  expiresAt: number;
}

export interface NewCliCode extends CliCode {
  /** SHA-256 of the device code, hex. No code itself is ever stored. */
  deviceHash: string;
  userHash: string;
  /** The address prefix that asked. */
  source: string;
}

export interface CliDecision {
  userHash: string;
  /** Without it, the code is only read. */
  decision: 'allow' | 'refuse' | undefined;
  sessionId: string;
  now: number;
}

export interface SessionStore {
  /**
   * Sessions, or tokens, that have not expired at `now`, newest first (ids are UUIDv7). `before` is the last id of the
   * previous page.
   */
  listSessions(
    wallet: string,
    now: number,
    limit: number,
    before: string | null,
    tokens?: boolean,
  ): Promise<SessionRecord[]>;
  /** Ends the account's session, or token, with this id at once; false if there is none. */
  endSession(wallet: string, id: string, by?: Actor, token?: boolean): Promise<boolean>;
  /**
   * Creates none if the account has `limits.tokensPerAccount` live tokens, also under concurrent calls, or if the session
   * `issuer` has ended since the call began.
   */
  createToken(
    token: NewSession & { wallet: string; name: string; scope: TokenScope; issuer: string },
    by: Actor,
  ): Promise<'created' | 'token_limit_reached' | 'session_ended'>;
  /** Sets the time of the last use, unless it was set less than `limits.windowMs` before. */
  noteTokenUse(id: string, now: number): Promise<void>;
  /**
   * Saves the code, and deletes expired ones; false if too many of the same source are open. Above the limit of all, the
   * oldest of the source with the most ends.
   */
  saveCliCode(code: NewCliCode): Promise<boolean>;
  /**
   * In one commit: finds the open, undecided code, and binds it to the session that allows it, or deletes it if it is
   * refused. A code that is not found is counted for the session. `session_ended`: the session has ended since it was
   * authenticated. `not_by_wallet`: the session was itself opened by a code. `too_many_wrong`: it entered
   * `limits.wrongCliCodes` wrong codes, so the code was not looked up.
   */
  decideCliCode(
    decision: CliDecision,
  ): Promise<CliCode | 'unknown' | 'session_ended' | 'not_by_wallet' | 'too_many_wrong'>;
  /**
   * In one commit: spends an allowed code, and opens a session of the account that allowed it. `unknown` also if the
   * code or the session that allowed it has ended. An unknown or pending code, and one of a suspended account, write
   * nothing. Ends the account's oldest session beyond the limit.
   */
  redeemCliCode(attempt: {
    deviceHash: string;
    session: NewSession;
    now: number;
    by?: Actor;
  }): Promise<{ wallet: string } | 'unknown' | 'pending' | 'account_suspended'>;
}

/** A call counted in a fixed window. A refused call consumes nothing. */
export interface RateCount {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Milliseconds until the window ends, 1 to 60 000. */
  resetMs: number;
}
