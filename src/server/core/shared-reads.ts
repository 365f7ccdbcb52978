// Shares reads of the chain among public verifications, and lets their callers take turns.
import { FairQueue } from '../../base/fair-queue.ts';
import type { Chain } from '../../chain/chain.ts';
import type { Hex } from '../../proof/bytes.ts';
import { wireError } from '../ports/errors.ts';

/** Reads in progress, of one caller and in total. */
const READS = { ofOneAtOnce: 8, atOnce: 16 };

/** Reads that wait for their turn. A caller has at most 64 verifications in progress. */
const WAITING = { ofOne: 64, inAll: 1024 };
const LONGEST_WAIT_MS = 10_000;

/** The chain reads of public verification, each shared by all who ask for the same thing. */
export type ChainReads = Pick<Chain, 'readAnchor' | 'readBlock' | 'readHeads'>;

/**
 * Shares the reads of a chain: of a transaction, of a block, and of the heads. Returns the reads of a caller: a source
 * or an account. A read of a transaction or block begins in the first turn that one of its callers gets; it rejects
 * with `chain_unavailable` for a caller who waits for 10 s.
 */
export function shareChainReads(chain: ChainReads): (caller: string) => ChainReads {
  const turns = new FairQueue({
    ...READS,
    waiting: WAITING,
    longestWaitMs: LONGEST_WAIT_MS,
    refusal: () => wireError('chain_unavailable', 'Too many verifications are in progress.'),
  });
  const readAnchor = shareReads((txHash: Hex) => chain.readAnchor(txHash), turns);
  const readBlock = shareReads((number: bigint) => chain.readBlock(number), turns);
  const readHeads = shareReads(() => chain.readHeads());
  return (caller) => ({
    readAnchor: (txHash) => readAnchor(txHash, caller),
    readBlock: (number) => readBlock(number, caller),
    readHeads: () => readHeads(null, caller),
  });
}

interface SharedRead<Value> {
  /** Null until one of its callers has a turn. */
  value: Promise<Value> | null;
  /** Aborts then: the other callers need no turn. */
  readonly begun: AbortController;
}

/** Shares reads. Reads of one key never run concurrently, and a caller only gets a read that started after its call. */
export function shareReads<Key, Value>(
  read: (key: Key) => Promise<Value>,
  turns?: FairQueue,
): (key: Key, caller: string) => Promise<Value> {
  const running = new Map<Key, Promise<Value>>();
  /** Reads that have not started, and may get more callers. */
  const next = new Map<Key, SharedRead<Value>>();

  async function begin(key: Key, shared: SharedRead<Value>): Promise<Value> {
    shared.begun.abort();
    while (running.has(key)) await running.get(key)?.catch(() => {});
    close(key, shared);
    const value = read(key);
    running.set(key, value);
    try {
      return await value;
    } finally {
      running.delete(key);
    }
  }

  function close(key: Key, shared: SharedRead<Value>): void {
    if (next.get(key) === shared) next.delete(key);
  }

  return async (key, caller) => {
    const shared = next.get(key) ?? { value: null, begun: new AbortController() };
    next.set(key, shared);
    const start = () => {
      shared.value ??= begin(key, shared);
      return shared.value;
    };
    if (turns === undefined) return start();
    try {
      return await turns.run(caller, start, shared.begun.signal);
    } catch (error) {
      // Either the turn of another caller came first, or the read failed.
      if (shared.value !== null) return shared.value;
      close(key, shared);
      throw error;
    }
  };
}
