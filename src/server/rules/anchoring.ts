// The state machines of attempts and completions, the precedence of lease holders, and what a chain proof proves.
import { orNull } from '../../base/or-null.ts';
import { SvcError } from '../../base/svc-error.ts';
import { readBlockHeader } from '../../proof/block-header.ts';
import { bytesToHex, type Hex } from '../../proof/bytes.ts';
import type { ChainProof } from '../../proof/chain-proof.ts';
import {
  readSignedTransaction,
  readTransaction,
  type SignedTransaction,
} from '../../proof/signed-transaction.ts';
import { valueInTrie } from '../../proof/trie.ts';
import type { AttemptState, UnprovenAnchor } from '../ports/anchoring.ts';

/*
 * The durable state machine of anchoring. Every write that moves an attempt or a completion uses these tables, and
 * docs/anchoring.md draws them. Each event maps the state before to the state after.
 */

/** The stored state of a completion. While it is `included`, readers see the state of its attempt. */
export type StoredCompletionState = 'queued' | 'submitted' | 'included' | 'failed';

type Moves<State extends string> = Readonly<Partial<Record<State, State>>>;

/** Moves of an attempt. It starts as `signed`. */
export const attemptMoves = {
  // A node's answer may arrive after the block, so it is harmless in every state.
  broadcast: {
    signed: 'submitted',
    submitted: 'submitted',
    reorged: 'submitted',
    included: 'included',
    finalized: 'finalized',
    dead: 'dead',
  },
  replace: { signed: 'signed', submitted: 'submitted', reorged: 'reorged' },
  include: {
    signed: 'included',
    submitted: 'included',
    reorged: 'included',
    included: 'included',
  },
  settle: { included: 'included', finalized: 'finalized' },
  become_safe: { included: 'included' },
  finalize: { included: 'finalized' },
  // From `finalized` only if all providers report fewer transactions than were mined.
  reorganize: { included: 'reorged', finalized: 'reorged' },
  die: { signed: 'dead', submitted: 'dead', reorged: 'dead' },
} as const satisfies Record<string, Moves<AttemptState>>;

/** Moves of a completion. It starts as `queued`. */
export const completionMoves = {
  sign: { queued: 'submitted' },
  fail: { queued: 'failed' },
  try_again: { failed: 'queued' },
  settle: { submitted: 'included' },
  requeue: { submitted: 'queued', included: 'queued' },
} as const satisfies Record<string, Moves<StoredCompletionState>>;

/** Degraded states that stop an account and that time alone does not end. */
const STOPS: ReadonlySet<string> = new Set([
  'chain_mismatch',
  'chain_unreachable',
  'chain_unsupported',
  'gas_cap',
  'key_not_reconciled',
  'restored',
  'sender_has_code',
  'underfunded',
]);

/**
 * Whether no account can anchor until an operator intervenes. `senders`: the reasons of each account with a lease;
 * `held`: those of the database, which count if there is none.
 */
export function isAnchoringStopped(
  held: readonly string[],
  senders: readonly (readonly string[])[],
): boolean {
  const accounts = senders.length === 0 ? [held] : senders;
  return accounts.every((reasons) => reasons.some((reason) => STOPS.has(reason)));
}

export type AttemptEvent = keyof typeof attemptMoves;
export type CompletionEvent = keyof typeof completionMoves;

/** @throws SvcError `illegal_transition` when the attempt may not move so. */
export function moveAttempt(from: AttemptState, event: AttemptEvent): AttemptState {
  const moves: Moves<AttemptState> = attemptMoves[event];
  const to = moves[from];
  if (to !== undefined) return to;
  const message = `The attempt is ${from}: there is no ${event} from there.`;
  throw new SvcError('illegal_transition', message);
}

/**
 * Prefix of the name of a lease holder without a key: it follows the account's open attempts and signs nothing. A
 * holder with the key takes over its lease at once.
 */
export const FOLLOWER = 'follower ';

/** A move of a completion as SQL: the target state, and the list of source states. */
export function completionMove(event: CompletionEvent): { to: string; from: string } {
  const moves: [string, string][] = Object.entries(completionMoves[event]);
  const [to] = new Set(moves.map(([, state]) => state));
  return { to: `'${to}'`, from: `(${moves.map(([state]) => `'${state}'`).join(', ')})` };
}

type Place = Pick<UnprovenAnchor, 'rawTx' | 'blockNumber' | 'blockHash' | 'txIndex'>;

/** Whether the header is that of the recorded block, and its trie holds the recorded bytes at the recorded index. */
export function provesPlace(place: Place, { header: encoded, nodes }: ChainProof): boolean {
  const proves = () => {
    const header = readBlockHeader(encoded);
    if (header.hash !== place.blockHash || header.number !== place.blockNumber) return false;
    const value = valueInTrie(header.transactionsRoot, place.txIndex, nodes);
    return value !== null && bytesToHex(value) === place.rawTx;
  };
  return orNull(proves, [TypeError]) ?? false;
}

type RecordedAnchor = Omit<UnprovenAnchor, 'attemptId' | 'tries'>;

/** Whether the recorded bytes are the anchor: its hash, chain, calldata, and an empty transfer to the sender. */
export function isAnchor(anchor: RecordedAnchor): boolean {
  return matches(anchor, readTransaction);
}

/** As `isAnchor`, and the sender signed them. */
export function isSignedAnchor(anchor: RecordedAnchor): boolean {
  return matches(anchor, readSignedTransaction);
}

function matches(
  anchor: RecordedAnchor,
  read: (raw: Hex) => Omit<SignedTransaction, 'from'> & Partial<Pick<SignedTransaction, 'from'>>,
): boolean {
  const sender = anchor.sender.toLowerCase();
  const tx = orNull(() => read(anchor.rawTx), [TypeError]);
  return (
    tx !== null &&
    tx.hash === anchor.txHash &&
    tx.chainId === BigInt(anchor.chainId) &&
    (tx.from ?? sender) === sender &&
    tx.to === sender &&
    tx.value === 0n &&
    tx.input === anchor.payload
  );
}
