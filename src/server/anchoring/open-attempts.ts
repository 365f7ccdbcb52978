// The attempts that are not final yet, as the anchor loop keeps them in memory.
import type { RefusalMeaning } from '../../chain/errors.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { AnchorStore, Lease, NewAttempt, OpenAttempt, Variant } from '../ports/anchoring.ts';

/** An open attempt, and what this process knows of it beside what is stored. */
export interface LiveAttempt extends OpenAttempt {
  /** When this process last offered its bytes to a node (`performance.now()`); null: not yet. */
  broadcastAt: number | null;
  /** Why no node took its bytes when they were offered last; null: one may have them. */
  refusal: RefusalMeaning | null;
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
  /** Of the sender by the last survey, in wei; null before it. */
  balance: bigint | null;
  /** Since when the count of a sender without a nonce stands. */
  firstReading: FirstReading | null;
  /** By two surveys in a row the chain has lost what was mined from this nonce on; null: it has not. */
  reorgedFrom: number | null;
  /** A nonce of ours is used, and by none of our variants. */
  nonceConflict: boolean;
  /** Runs for the lowest nonce that is in no block. */
  bumpClock: BumpClock | null;
}

export interface BumpClock {
  readonly attemptId: string;
  /** Of the variant that is waited for. */
  readonly txHash: Hex;
  /** `performance.now()`. */
  readonly since: number;
  /** Where the chain stood then. */
  readonly headNumber: bigint;
  /** Replacements of this attempt before it at the same head. */
  readonly blindly: number;
  /** Why there is no dearer variant though it is time; looked at again at `lookAt`. */
  parked: Parking | null;
  lookAt: number;
}

export type Parking = 'fee_cap' | 'underfunded' | 'no_key';

export interface FirstReading {
  readonly latestNonce: number;
  readonly headNumber: bigint;
  /** `performance.now()`. */
  readonly since: number;
}

/**
 * Where a restart goes on: whatever is stored and open, and the nonce after the highest one. The clock of before
 * runs on, so that no fault makes a stuck transaction wait anew.
 */
export async function recoverAttempts(
  store: AnchorStore,
  lease: Lease,
  bumpClock: BumpClock | null,
): Promise<LiveAttempts> {
  const [open, nextNonce] = await Promise.all([
    store.listOpenAttempts(lease),
    store.getNextNonce(lease),
  ]);
  return {
    attempts: open.map(liveAttempt),
    nextNonce,
    counted: null,
    balance: null,
    firstReading: null,
    reorgedFrom: null,
    nonceConflict: false,
    bumpClock,
  };
}

/** Reads what is open anew, after something else than a receipt has moved it. */
export async function refreshAttempts(
  store: AnchorStore,
  lease: Lease,
  live: LiveAttempts,
): Promise<void> {
  const known = new Map(live.attempts.map((attempt) => [attempt.id, attempt]));
  live.attempts = (await store.listOpenAttempts(lease)).map((open) => {
    const before = known.get(open.id);
    return before?.state === open.state ? before : liveAttempt(open);
  });
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
    takenBy: null,
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
  const mined = isInBlock(attempt);
  return { ...attempt, broadcastAt: null, refusal: null, mined, failed: false, lookAt: 0 };
}

/** By what is stored; only its leaves are left to be settled. */
export function isInBlock({ state }: OpenAttempt): boolean {
  return state === 'included' || state === 'finalized';
}
