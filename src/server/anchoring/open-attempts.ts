// The attempts that are not final yet, as the anchor loop keeps them in memory.
import type { RefusalMeaning } from '../../chain/errors.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { AnchorStore, Lease, NewAttempt, OpenAttempt, Variant } from '../ports/anchoring.ts';

/** An open attempt, and what only this process knows about it. */
export interface LiveAttempt extends OpenAttempt {
  /** When this process last broadcast it (`performance.now()`); null: not yet. */
  broadcastAt: number | null;
  /** Why every node refused the last broadcast; null: a node may have accepted it. */
  refusal: RefusalMeaning | null;
  /** It was seen in a block: its nonce is used, and it no longer counts as in flight. */
  mined: boolean;
  /** At the last lookup its mined transaction was no anchor. */
  failed: boolean;
  /** Lookups in a row in which a provider did not say whether there is a receipt, and none was seen. */
  unknownLookups: number;
  /** Receipts are not looked up before this time (`performance.now()`). */
  lookAt: number;
}

/** The open attempts of one sender, as this process sees them. Rebuilt from the store after any error. */
export interface LiveAttempts {
  /** Lowest nonce first. */
  attempts: LiveAttempt[];
  /** Null until the first nonce of this sender is taken. */
  nextNonce: number | null;
  /** The sender's transaction count at the last reading, and the head at which it was read. */
  counted: { latestNonce: number; headNumber: bigint } | null;
  /** The sender's balance at the last reading, in wei; null before the first. */
  balance: bigint | null;
  /** What the anchor needed that the last reading was for, in wei; null before the first. */
  neededWei: bigint | null;
  /** For a sender without a nonce here: its transaction count, and since when (`performance.now()`) it has not changed. */
  firstReading: { latestNonce: number; headNumber: bigint; since: number } | null;
  /** The lowest nonce that the chain has lost to a reorganization, as two readings in a row reported; null: none. */
  reorgedFrom: number | null;
  /** One of our nonces is used, but not by any of our variants. */
  nonceConflict: boolean;
  /** Times the fee bump of the lowest nonce that is in no block. */
  bumpClock: BumpClock | null;
}

export interface BumpClock {
  readonly attemptId: string;
  /** The variant whose inclusion is awaited. */
  readonly txHash: Hex;
  /** `performance.now()`. */
  readonly since: number;
  /** The head at `since`. */
  readonly headNumber: bigint;
  /** Number of earlier replacements of this attempt at the same head. */
  readonly blindly: number;
  /** Why a due replacement is not possible; checked again at `lookAt`. */
  parked: Parking | null;
  lookAt: number;
}

export type Parking = 'fee_cap' | 'underfunded' | 'no_key';

/**
 * Reads the open attempts and the next nonce from the store, after a restart or an error. The bump clock is passed on,
 * so that an error does not make a stuck transaction wait from the start.
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
    neededWei: null,
    firstReading: null,
    reorgedFrom: null,
    nonceConflict: false,
    bumpClock,
  };
}

/** Reads the open attempts again, after something other than a receipt has changed them. */
export async function refreshAttempts(store: AnchorStore, lease: Lease, live: LiveAttempts) {
  const known = new Map(live.attempts.map((attempt) => [attempt.id, attempt]));
  live.attempts = (await store.listOpenAttempts(lease)).map((open) => {
    const before = known.get(open.id);
    return before?.state === open.state ? before : liveAttempt(open);
  });
}

export function committedAttempt(attempt: NewAttempt): LiveAttempt {
  return liveAttempt({
    id: attempt.id,
    nonce: attempt.nonce,
    state: 'signed',
    payload: attempt.payload,
    unsettledLeaves: attempt.leaves.length,
    variants: [attempt.variant],
    minedTxHash: null,
    takenBy: null,
    createdAt: attempt.now,
  });
}

/** Attempts that are sent or to be sent, and in no block. */
export function unmined({ attempts }: LiveAttempts): LiveAttempt[] {
  return attempts.filter(({ mined }) => !mined);
}

/** Whether its nonce was counted as used, perhaps by a transaction that is not ours. */
export function isUsed({ counted }: LiveAttempts, { nonce }: LiveAttempt): boolean {
  return counted !== null && nonce < counted.latestNonce;
}

/** Whether the nonce of an attempt is used, and no transaction of the attempt was seen in a block. */
export function hasUnexplainedNonce(live: LiveAttempts): boolean {
  return unmined(live).some((attempt) => isUsed(live, attempt));
}

/** The lowest nonce that is in no block; null until the first nonce is used. */
export function lowestUnmined(live: LiveAttempts): number | null {
  return unmined(live)[0]?.nonce ?? live.nextNonce;
}

export function newestVariant(attempt: LiveAttempt): Variant {
  const newest = attempt.variants.at(-1);
  if (newest === undefined) throw new Error(`Attempt ${attempt.id} has no variant`);
  return newest;
}

/** Whether the store records the attempt as in a block; only its leaves are left to settle. */
export function isInBlock({ state }: OpenAttempt): boolean {
  return state === 'included' || state === 'finalized';
}

function liveAttempt(attempt: OpenAttempt): LiveAttempt {
  const mined = isInBlock(attempt);
  const seen = { mined, failed: false, unknownLookups: 0 };
  return { ...attempt, ...seen, broadcastAt: null, refusal: null, lookAt: 0 };
}
