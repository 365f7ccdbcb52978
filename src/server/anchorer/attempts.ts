import type { AnchorStore, Lease, NewAttempt, OpenAttempt, Variant } from '../core/anchor-store.ts';

/** An open attempt, and what this process knows of it beside what is stored. */
export interface LiveAttempt extends OpenAttempt {
  /** When this process last offered its bytes to a node (`performance.now()`); null: not yet. */
  offeredAt: number | null;
  /** The node refused its bytes. */
  refused: boolean;
  /** A receipt was seen: its nonce is used, and its place in flight is free. */
  mined: boolean;
  /** By the last reading its mined transaction is no anchor. */
  failed: boolean;
  /** No receipt is read before this instant of `performance.now()`. */
  lookAt: number;
}

/** What is under way for one sender, as this process sees it; made anew from the store after any fault. */
export interface LiveAttempts {
  /** Lowest nonce first. */
  attempts: LiveAttempt[];
  /** Null until the first nonce of this sender is taken. */
  nextNonce: number | null;
  /** The sender's transaction count by the last survey, and the head it was read at. */
  counted: { latestNonce: number; headNumber: bigint } | null;
  /** Since when the count of a sender without a nonce stands. */
  firstCount: FirstCount | null;
  /** A nonce of ours is used, and by none of our variants. */
  nonceConflict: boolean;
}

export interface FirstCount {
  readonly latestNonce: number;
  readonly headNumber: bigint;
  /** `performance.now()`. */
  readonly since: number;
}

/** Where a restart goes on: whatever is stored and open, and the nonce after the highest one. */
export async function recoverAttempts(store: AnchorStore, lease: Lease): Promise<LiveAttempts> {
  const [open, nextNonce] = await Promise.all([
    store.listOpenAttempts(lease),
    store.getNextNonce(lease),
  ]);
  return {
    attempts: open.map(liveAttempt),
    nextNonce,
    counted: null,
    firstCount: null,
    nonceConflict: false,
  };
}

export function committedAttempt(attempt: NewAttempt): LiveAttempt {
  const leafCount = attempt.leaves.length;
  return liveAttempt({
    id: attempt.id,
    nonce: attempt.nonce,
    state: 'signed',
    payload: attempt.payload,
    leafCount,
    unsettledLeaves: leafCount,
    variants: [attempt.variant],
    minedTxHash: null,
    createdAt: attempt.now,
  });
}

/** Sent or to be sent, and in no block yet. */
export function unmined({ attempts }: LiveAttempts): LiveAttempt[] {
  return attempts.filter(({ mined }) => !mined);
}

/** Lowest nonce that is in no block; null until the first one is taken. */
export function lowestUnmined(live: LiveAttempts): number | null {
  return unmined(live)[0]?.nonce ?? live.nextNonce;
}

export function newestVariant(attempt: LiveAttempt): Variant {
  const newest = attempt.variants.at(-1);
  if (newest === undefined) throw new Error(`Attempt ${attempt.id} has no variant`);
  return newest;
}

function liveAttempt(attempt: OpenAttempt): LiveAttempt {
  const mined = attempt.state === 'included';
  return { ...attempt, offeredAt: null, refused: false, mined, failed: false, lookAt: 0 };
}
