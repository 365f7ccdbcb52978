// The moves of an attempt and of a completion, and which lease holder goes first.
import { SvcError } from '../../base/svc-error.ts';
import type { AttemptState } from '../ports/anchoring.ts';

/*
 * The durable state machine of anchoring: every write that moves an attempt or a completion looks here, and
 * docs/anchoring.md prints these tables. Keys are events, then the state before; values the state after.
 */

/** How a completion is stored; while it is `included` it shows the state of its attempt. */
export type StoredCompletionState = 'queued' | 'submitted' | 'included' | 'failed';

export const attemptStates = [
  'signed',
  'submitted',
  'included',
  'finalized',
  'reorged',
  'dead',
] as const satisfies readonly AttemptState[];

export const completionStates = [
  'queued',
  'submitted',
  'included',
  'failed',
] as const satisfies readonly StoredCompletionState[];

type Moves<State extends string> = Readonly<Partial<Record<State, State>>>;

/** An attempt begins as `signed`. */
export const attemptMoves = {
  // A node's answer may come after the block, so it is harmless in every state.
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
  // A final block is gone: only where all providers count less than was mined.
  reorganize: { included: 'reorged', finalized: 'reorged' },
  die: { signed: 'dead', submitted: 'dead', reorged: 'dead' },
} as const satisfies Record<string, Moves<AttemptState>>;

/** A completion begins as `queued`. */
export const completionMoves = {
  sign: { queued: 'submitted' },
  refuse: { queued: 'failed' },
  try_again: { failed: 'queued' },
  settle: { submitted: 'included' },
  anchor_anew: { submitted: 'queued', included: 'queued' },
} as const satisfies Record<string, Moves<StoredCompletionState>>;

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

/** Begins the name of a holder that has no key: it follows what is open of the account, and signs nothing. */
export const FOLLOWER = 'follower ';

/** Whether a holder takes the lease of another at once: one that has the key, from one that only follows. */
export function goesBefore(holder: string, other: string): boolean {
  return other.startsWith(FOLLOWER) && !holder.startsWith(FOLLOWER);
}

/** The table's move as SQL: the state it leads to, and the list of those it starts from. */
export function completionMove(event: CompletionEvent): { to: string; from: string } {
  const moves: [string, string][] = Object.entries(completionMoves[event]);
  const [to] = new Set(moves.map(([, state]) => state));
  return { to: `'${to}'`, from: `(${moves.map(([state]) => `'${state}'`).join(', ')})` };
}
