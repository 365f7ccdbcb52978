import type { Hex } from '../../proof/bytes.ts';
import type { Chain } from './ports.ts';

/** What the chain holds of a transaction; rejects with `chain_unavailable`. */
export type AnchorReader = Chain['readAnchor'];

type Reading = ReturnType<AnchorReader>;

interface Slot {
  /** `startedAt` by `performance.now()`, which no change of the clock moves. */
  running: { startedAt: number; reading: Reading };
  /** Begins when `running` ends; shared by everyone who came after that one began. */
  next: Reading | null;
}

/** Readings kept for callers that take an old one; the oldest go first. */
const KEPT = 1000;

/**
 * Reads of one transaction never run beside each other, and callers share a read only if it began
 * after they came. With `maxAgeMs` above 0 a caller also takes a read that began at most so long ago.
 */
export function createAnchorReader(
  chain: Pick<Chain, 'readAnchor'>,
  maxAgeMs: () => number,
): AnchorReader {
  const slots = new Map<Hex, Slot>();

  function begin(txHash: Hex): Reading {
    const reading = chain.readAnchor(txHash);
    const slot: Slot = { running: { startedAt: performance.now(), reading }, next: null };
    slots.delete(txHash);
    slots.set(txHash, slot);
    reading.then(
      () => end(txHash, slot, maxAgeMs() > 0),
      () => end(txHash, slot, false),
    );
    return reading;
  }

  function end(txHash: Hex, slot: Slot, keep: boolean): void {
    if (slots.get(txHash) !== slot || slot.next !== null) return;
    if (!keep) slots.delete(txHash);
    for (const oldest of slots.keys()) {
      if (slots.size <= KEPT) break;
      slots.delete(oldest);
    }
  }

  return (txHash) => {
    const slot = slots.get(txHash);
    if (slot === undefined) return begin(txHash);
    const age = performance.now() - slot.running.startedAt;
    if (maxAgeMs() > 0 && age <= maxAgeMs()) return slot.running.reading;
    slot.next ??= slot.running.reading.then(
      () => begin(txHash),
      () => begin(txHash),
    );
    return slot.next;
  };
}
