import type { NewSession } from './ports.ts';

/* An account's own view of itself, and the hand-off of a session. Conventions as in ports.ts. */

export interface LedgerRecord {
  /** Its place in the ledger; later entries have greater ones. */
  seq: number;
  kind: 'grant' | 'reserve' | 'settle' | 'release';
  /** Signed. */
  anchors: number;
  /** Signed. */
  gasWei: bigint;
  taskId: string | null;
  /** Of the task, each reservation one; null for a grant. */
  cycle: number | null;
  /** Null for what is not a grant. */
  grantId: string | null;
  note: string | null;
  at: number;
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

export interface AccountStore {
  countUsed(wallet: string): Promise<{ robots: number; fleets: number }>;
  /** 32 random bytes, the same for the life of the database: see cursors.ts. */
  cursorKey(): Promise<Uint8Array>;
  /** Newest first; `before` is the last `seq` of the page before. */
  listLedger(wallet: string, limit: number, before: number | null): Promise<LedgerRecord[]>;
  /** Those that have not expired at `now`, newest first (ids are UUIDv7); `before` as above. */
  listSessions(
    wallet: string,
    now: number,
    limit: number,
    before: string | null,
  ): Promise<ListedSession[]>;
  /** Ends the account's session of this id at once; false when it has none. */
  endSession(wallet: string, id: string): Promise<boolean>;
  /**
   * `session_gone`: the session ended since it was authenticated. `not_by_wallet`: a code opened it.
   * Forgets expired codes.
   */
  saveCliCode(code: NewCliCode): Promise<'saved' | 'session_gone' | 'not_by_wallet'>;
  /**
   * Spends the code, whatever comes of it, and opens the session of its account if the challenge is the
   * code's own, neither code nor the session that made it has ended, in one commit. Else null, for an
   * unknown code without any write. Ends the account's oldest session beyond its limit.
   */
  redeemCliCode(attempt: CliCodeAttempt): Promise<{ wallet: string } | null>;
}
