/** Signed changes of an account's balance. */
export interface BalanceChange {
  wallet: string;
  anchors: number;
  gasWei: bigint;
}

interface Common extends BalanceChange {
  at: number;
}

export type LedgerEntry =
  | (Common & { kind: 'grant'; grantId: string; note: string })
  | (Common & { kind: 'reserve' | 'settle' | 'release'; taskId: string; cycle: number });

export interface Reservation {
  wallet: string;
  cycle: number;
  gasWei: bigint;
}
