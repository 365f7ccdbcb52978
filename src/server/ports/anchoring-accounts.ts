// The store's contract for the list of anchoring accounts. Conventions: store.ts.
import type { Hex } from '../../proof/bytes.ts';
import type { SenderKey } from './operations.ts';

/** A signature that counts for one origin only: the public URL of the service when it was made. */
export interface OriginSignature {
  origin: string;
  signature: Hex;
}

export interface AnchoringAccount extends SenderKey {
  /** The newest block when the account was first used. */
  firstBlock: bigint;
  /** The block of its last anchor; null until it is retired. */
  lastBlock: bigint | null;
  /** The account's signature of its own entry; null if its key was not available. */
  statement: OriginSignature | null;
  /** The account's newest signature of a whole list. */
  listSignature: (OriginSignature & { sequence: number }) | null;
}

/** All accounts, by first block. `sequence` increases with every change of an account; 0 while there is none. */
export interface AccountList {
  sequence: number;
  accounts: AnchoringAccount[];
}

/** `in_use`: a server holds its lease. `not_final`: an anchor of it is not final yet. */
export type Retirement =
  | { outcome: 'retired'; lastBlock: bigint }
  | { outcome: 'unknown' | 'in_use' | 'not_final' };

export interface AnchoringAccountStore {
  listAnchoringAccounts(): Promise<AccountList>;
  /** Does nothing if the account is listed. */
  addAnchoringAccount(
    account: Pick<AnchoringAccount, 'chainId' | 'address' | 'firstBlock' | 'statement'>,
  ): Promise<void>;
  saveListSignature(
    sender: SenderKey,
    signature: NonNullable<AnchoringAccount['listSignature']>,
  ): Promise<void>;
  /**
   * Sets the last block: that of the account's last anchor, or the first block if it has none. A retired account stays
   * as it is.
   */
  retireAnchoringAccount(sender: SenderKey, now: number): Promise<Retirement>;
}
