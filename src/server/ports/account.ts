// An account: its balance, grants and ledger.

export interface Balance {
  wallet: string;
  anchorQuota: number;
  gasCreditWei: bigint;
}

export interface Grant {
  /** Makes a repeated grant harmless. */
  id: string;
  wallet: string;
  anchors: number;
  gasWei: bigint;
  note: string;
  now: number;
}

export interface CreditStore {
  /** `repeated`: a grant of this id was made before and nothing was written. Opens the account if needed. */
  grantCredits(grant: Grant): Promise<{ outcome: 'granted' | 'repeated'; balance: Balance }>;
  getBalance(wallet: string): Promise<Balance | null>;
}

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

export interface AccountStore {
  countUsed(wallet: string): Promise<{ robots: number; fleets: number }>;
  /** 32 random bytes, the same for the life of the database: see cursors.ts. */
  cursorKey(): Promise<Uint8Array>;
  /** Newest first; `before` is the last `seq` of the page before. */
  listLedger(wallet: string, limit: number, before: number | null): Promise<LedgerRecord[]>;
}
