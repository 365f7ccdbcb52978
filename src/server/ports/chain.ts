// The use cases' contract with the chain.
import type { ChainFacts } from '../../proof/audit-anchor.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Finality } from '../../protocol/resources.ts';

/** Public details of a network for wallets and explorers. */
export interface Network {
  name: string;
  testnet: boolean;
  /** No trailing slash. */
  explorerUrl: string;
  nativeCurrency: { name: string; symbol: string; decimals: number };
  /** Public endpoints only; empty if none is known. */
  rpcUrls: string[];
}

/** A block as the chain's nodes returned it. */
export interface Block {
  hash: Hex;
  /** Milliseconds since the epoch. */
  timestamp: number;
  /** Hashes of its transactions. */
  transactions: ReadonlySet<Hex>;
}

/** Block numbers; null if nothing is safe or finalized yet. */
export interface Heads {
  head: bigint;
  safe: bigint | null;
  finalized: bigint | null;
}

/** The chain reads of the use cases. They reject with `chain_unavailable` when the chain cannot be read. */
export interface Chain {
  /**
   * The EIP-55 form of an address in any case; null if the text is not an address. A mixed-case address needs no valid
   * checksum.
   */
  checksumAddress(text: string): string | null;
  /** The wallet that made a 65-byte personal_sign signature with low s, recovered locally; null if it is not one. */
  recoverWallet(message: string, signature: Hex): Promise<string | null>;
  /**
   * Checks an ERC-1271 or ERC-6492 signature. Calls the contract only if it has code or the signature has the 6492
   * suffix.
   */
  isContractSignature(wallet: string, message: string, signature: Hex): Promise<boolean>;
  /** ERC-20 balance in the token's smallest unit. */
  tokenBalance(token: string, wallet: string): Promise<bigint>;
  /** What the chain knows of a transaction, from a read that starts after the call. */
  readAnchor(txHash: Hex): Promise<{
    facts: ChainFacts;
    confirmations: bigint | null;
    finality: Exclude<Finality, 'reorged'> | null;
  }>;
  /** The block at a number of the canonical chain, from a read that starts after the call; null if there is none. */
  readBlock(number: bigint): Promise<Block | null>;
  /** The newest block, and the newest ones that are safe and finalized, from a read that starts after the call. */
  readHeads(): Promise<Heads>;
  /** Number of the newest block. */
  headNumber(): Promise<bigint>;
}
