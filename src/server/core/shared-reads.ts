// Shares reads of the chain among public verifications.
import type { Chain } from '../ports/chain.ts';

/** The chain reads of public verification, each shared by all who ask for the same thing. */
export type ChainReads = Pick<Chain, 'readAnchor' | 'readBlock' | 'readHeads'>;

/** Shares the reads of a chain: of a transaction, of a block, and of the heads. */
export function shareChainReads(chain: ChainReads, maxAgeMs: () => number): ChainReads {
  const readHeads = shareReads(() => chain.readHeads(), maxAgeMs);
  return {
    readAnchor: shareReads((txHash) => chain.readAnchor(txHash), maxAgeMs),
    readBlock: shareReads((number) => chain.readBlock(number), maxAgeMs, KEPT_BLOCKS),
    readHeads: () => readHeads(null),
  };
}

interface Slot<Value> {
  /** `startedAt` is `performance.now()`, which changes of the system clock do not move. */
  running: { startedAt: number; reading: Promise<Value> };
  /** The read that starts when `running` ends, shared by all callers that arrived after that one started. */
  next: Promise<Value> | null;
}

/** Maximum number of readings kept for reuse; the oldest are dropped first. */
const KEPT = 1000;

/** A block of 5 000 transactions takes 600 KB. */
const KEPT_BLOCKS = 50;

/**
 * Shares reads. Reads of one key never run concurrently, and a caller only gets a read that started after its call.
 * With `maxAgeMs` above 0 a caller also accepts a read that started at most that long ago.
 */
export function shareReads<Key, Value>(
  read: (key: Key) => Promise<Value>,
  maxAgeMs: () => number,
  mostKept = KEPT,
): (key: Key) => Promise<Value> {
  const slots = new Map<Key, Slot<Value>>();

  function begin(key: Key): Promise<Value> {
    const reading = read(key);
    const slot: Slot<Value> = { running: { startedAt: performance.now(), reading }, next: null };
    slots.delete(key);
    slots.set(key, slot);
    reading.then(
      () => end(key, slot, maxAgeMs() > 0),
      () => end(key, slot, false),
    );
    return reading;
  }

  function end(key: Key, slot: Slot<Value>, keep: boolean): void {
    if (slots.get(key) !== slot || slot.next !== null) return;
    if (!keep) slots.delete(key);
    for (const oldest of slots.keys()) {
      if (slots.size <= mostKept) break;
      slots.delete(oldest);
    }
  }

  return (key) => {
    const slot = slots.get(key);
    if (slot === undefined) return begin(key);
    const age = performance.now() - slot.running.startedAt;
    if (maxAgeMs() > 0 && age <= maxAgeMs()) return slot.running.reading;
    slot.next ??= slot.running.reading.then(
      () => begin(key),
      () => begin(key),
    );
    return slot.next;
  };
}
