// The store's contract for the list of anchoring accounts. Conventions: store.ts.
import type { Hex } from '../../proof/bytes.ts';
import type { Lease, SenderKey } from './anchoring.ts';

export interface NewAnchoringAccount extends SenderKey {
  /** The newest block when the account was first used. */
  firstBlock: bigint;
  /** The account's signature of its entry, and the public URL of the service in it; null if the key was not available. */
  signature: Hex | null;
  origin: string | null;
}

export interface AnchoringAccount extends NewAnchoringAccount {
  /** The block of its last anchor; null until it is retired. */
  lastBlock: bigint | null;
  /** A transaction from elsewhere used a nonce above those of its final anchors: its last block is not known here. */
  endsElsewhere: boolean;
  /** Sequence number of the list that added or retired the account. Each list has a number of its own. */
  changedIn: number;
}

export interface AnchoringAccountStore {
  /** Every account, by first block. */
  listAnchoringAccounts(): Promise<AnchoringAccount[]>;
  /** Does nothing if the account is listed. */
  addAnchoringAccount(account: NewAnchoringAccount): Promise<void>;
  /**
   * Sets the last block of the lease's sender to that of its last final anchor, or to the first block, but never below
   * `atLeast`. A retired account stays as it is.
   */
  retireAnchoringAccount(lease: Lease, atLeast?: bigint): Promise<void>;
}
