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
 * or an account. The caller that starts a read of a transaction or block takes a turn for it; these reads reject with
 * `chain_unavailable` if the turn does not come within 10 s.
 */
export function shareChainReads(chain: ChainReads): (caller: string) => ChainReads {
  const turns = new FairQueue({
    ...READS,
    waiting: WAITING,
    longestWaitMs: LONGEST_WAIT_MS,
    refusal: () => wireError('chain_unavailable', 'Too many verifications are in progress.'),
  });
  const inTurn = <Key, Value>(read: (key: Key) => Promise<Value>) => {
    return (key: Key, caller: string) => turns.run(caller, () => read(key));
  };
  const readAnchor = shareReads(inTurn((txHash: Hex) => chain.readAnchor(txHash)));
  const readBlock = shareReads(inTurn((number: bigint) => chain.readBlock(number)));
  const readHeads = shareReads(() => chain.readHeads());
  return (caller) => ({
    readAnchor: (txHash) => readAnchor(txHash, caller),
    readBlock: (number) => readBlock(number, caller),
    readHeads: () => readHeads(null, caller),
  });
}

interface Slot<Value> {
  running: Promise<Value>;
  /** The read that starts when `running` ends, shared by all callers that arrived after that one started. */
  next: Promise<Value> | null;
}

/** Shares reads. Reads of one key never run concurrently, and a caller only gets a read that started after its call. */
export function shareReads<Key, Value>(
  read: (key: Key, caller: string) => Promise<Value>,
): (key: Key, caller: string) => Promise<Value> {
  const slots = new Map<Key, Slot<Value>>();

  function begin(key: Key, caller: string): Promise<Value> {
    const running = read(key, caller);
    const slot: Slot<Value> = { running, next: null };
    slots.set(key, slot);
    const end = () => {
      if (slot.next === null) slots.delete(key);
    };
    running.then(end, end);
    return running;
  }

  return (key, caller) => {
    const slot = slots.get(key);
    if (slot === undefined) return begin(key, caller);
    slot.next ??= slot.running.then(
      () => begin(key, caller),
      () => begin(key, caller),
    );
    return slot.next;
  };
}
