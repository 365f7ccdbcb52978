import type { RefusalMeaning } from '../../chain/errors.ts';
import type { Survey } from '../../chain/survey.ts';

export interface Refusals {
  /** Whether the last survey of the dearest single was refused. */
  readonly any: boolean;
  /** What the dearest single was refused for, at two heads in a row; null: no refusal stands. */
  readonly standing: RefusalMeaning | null;
  /** Call with every survey of the dearest single. */
  note(survey: Survey): void;
}

/**
 * Follows whether the chain would refuse any anchor at all. A payload is calldata to an account without
 * code, so what the dearest single passes no other payload can fail by itself; and what one answer of
 * one node says, a later head may not.
 */
export function createRefusals(): Refusals {
  let first: { meaning: RefusalMeaning; headNumber: bigint } | null = null;
  let standing: RefusalMeaning | null = null;
  return {
    get any() {
      return first !== null;
    },
    get standing() {
      return standing;
    },
    note({ gas, headNumber }) {
      const meaning = gas.outcome === 'refused' ? gas.meaning : null;
      if (meaning === null || meaning !== first?.meaning) {
        first = meaning === null ? null : { meaning, headNumber };
        standing = null;
      } else if (headNumber > first.headNumber) {
        standing = meaning;
      }
    },
  };
}
