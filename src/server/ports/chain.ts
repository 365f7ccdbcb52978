// What the use cases ask of the chain.
import type { ChainFacts } from '../../proof/audit-anchor.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Finality } from '../../protocol/resources.ts';

/** What wallets and explorers need to know of a network; nothing in it is secret. */
export interface Network {
  name: string;
  testnet: boolean;
  /** Without a slash at the end. */
  explorerUrl: string;
  nativeCurrency: { name: string; symbol: string; decimals: number };
  /** Public endpoints only; empty where none is known. */
  rpcUrls: string[];
}

/** What the use cases read from the chain. Reads reject with `chain_unavailable` when it cannot be read. */
export interface Chain {
  /** Null unless the text is an address (any case; a mixed-case one needs no valid checksum). */
  checksumAddress(text: string): string | null;
  /** Local recovery of a 65-byte personal_sign signature, low s only; null when it is not one. */
  recoverWallet(message: string, signature: Hex): Promise<string | null>;
  /** ERC-1271 and ERC-6492, made only where code or the 6492 suffix is there. */
  isContractSignature(wallet: string, message: string, signature: Hex): Promise<boolean>;
  /** ERC-20 balance in the token's smallest unit. */
  tokenBalance(token: string, wallet: string): Promise<bigint>;
  /** What the chain holds of a transaction, in a read that begins after the call. */
  readAnchor(txHash: Hex): Promise<{
    facts: ChainFacts;
    confirmations: bigint | null;
    finality: Exclude<Finality, 'reorged'> | null;
  }>;
  /** Number of the newest block. */
  headNumber(): Promise<bigint>;
}
