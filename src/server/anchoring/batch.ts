// Batches: when the next one is signed, and its payload (a single leaf or the root of a tree).
import { runYielding } from '../../base/async/cooperative-yield.ts';
import type { Hex } from '../../proof/bytes.ts';
import { encodePayload } from '../../proof/payload.ts';
import { growMerkleTree } from '../../proof/tree.ts';
import type { AnchorStore, NewAttempt, QueuedProof } from '../ports/anchoring.ts';
import type { AnchoringPauses } from './context.ts';

export interface Batch extends Pick<NewAttempt, 'root' | 'leaves' | 'freeLeaves'> {
  payload: Hex;
}

/** Builds payload and tree from proofs in queue order, and free leaves behind them. A lone proof becomes a single. */
export async function batchOf(
  queued: readonly QueuedProof[],
  freeLeaves: readonly Hex[] = [],
): Promise<Batch> {
  const leaves = queued.map(({ taskId, leaf }) => ({ taskId, leaf }));
  const [first] = queued;
  if (first !== undefined && queued.length === 1) {
    const { proofHash: proof_hash, leaf } = first;
    const payload = encodePayload({ kind: 'single', proof_hash, leaf });
    return { payload, root: null, leaves, freeLeaves: [] };
  }
  const all = [...leaves.map(({ leaf }) => leaf), ...freeLeaves];
  const { root } = await runYielding(growMerkleTree(all));
  const payload = encodePayload({ kind: 'batch', root, leaf_count: all.length });
  return { payload, root, leaves, freeLeaves };
}

/** Length of a payload in bytes. */
export function bytesOf(payload: Hex): number {
  return (payload.length - 2) / 2;
}

/** The most expensive payload of a single: no byte of it is zero. Reservations are quoted for it. */
export const dearestSingle: Hex = encodePayload({
  kind: 'single',
  proof_hash: `0x${'ff'.repeat(32)}`,
  leaf: `0x${'ff'.repeat(32)}`,
});

export type QueueWatch = ReturnType<typeof watchQueue>;

/** Turns the store's notifications into a flag, so that a proof queued between two reads is not missed. */
export function watchQueue(store: AnchorStore, signal: AbortSignal, wake: () => void) {
  let mayHold = true;
  let armed = false;
  return {
    /** Whether the queue may contain proofs. */
    get mayHold() {
      return mayHold;
    },
    /** Call before reading the queue: any proof queued from then on sets `mayHold` again. */
    rearm() {
      mayHold = false;
      if (armed) return;
      armed = true;
      store.waitForQueuedProof(signal).then(
        () => {
          armed = false;
          mayHold = true;
          wake();
        },
        // A missed notification costs time, not a proof: the regular reading of the sender state sets the flag as well.
        () => {
          armed = false;
        },
      );
    },
    /** Sets `mayHold` directly: proofs were left in the queue, or a notification may have been missed. */
    raise() {
      mayHold = true;
    },
  };
}

export type BatchTiming = ReturnType<typeof createBatchTiming>;

/** A single proof waits no longer than this for a batch, however slow the chain, unless the service is under load. */
const MAX_SLOT_MS = 1_000;

/** Estimates the block time, so that a slow chain is not polled more often than it changes. */
export function createBatchTiming(least: AnchoringPauses) {
  let { blockMs } = least;
  let seen: { head: bigint; at: number } | null = null;
  return {
    /** Call with every observed head. */
    note(head: bigint, now: number) {
      if (seen !== null && head <= seen.head) return;
      if (seen !== null) {
        const measured = (now - seen.at) / Number(head - seen.head);
        blockMs = (3 * blockMs + measured) / 4;
      }
      seen = { head, at: now };
    },
    /** Interval between two lookups of receipts. */
    pollMs: () => clamp(blockMs / 8, least.pollMs, 1_000),
    /** Interval between two readings of the sender state: about a block. */
    senderStateMs: () => clamp(blockMs, least.senderStateMs, 15_000),
    /** Interval between two transactions, so that the transactions in flight spread over a block. */
    slotMs: (places: number, isLoaded: boolean) =>
      isLoaded ? blockMs / places : clamp(blockMs / places, 0, MAX_SLOT_MS),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
