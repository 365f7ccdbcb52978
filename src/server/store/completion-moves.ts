import { type CompletionEvent, completionMoves } from '../core/anchor-states.ts';

/** The table's move as SQL: the state it leads to, and the list of those it starts from. */
export function completionMove(event: CompletionEvent): { to: string; from: string } {
  const moves: [string, string][] = Object.entries(completionMoves[event]);
  const [to] = new Set(moves.map(([, state]) => state));
  return { to: `'${to}'`, from: `(${moves.map(([state]) => `'${state}'`).join(', ')})` };
}
