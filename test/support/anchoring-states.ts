// Every state of an attempt and of a completion.
import type { AttemptState } from '../../src/server/ports/anchoring.ts';
import type { StoredCompletionState } from '../../src/server/rules/anchoring.ts';

export const attemptStates: readonly AttemptState[] = [
  'signed',
  'submitted',
  'included',
  'finalized',
  'reorged',
  'dead',
];

export const completionStates: readonly StoredCompletionState[] = [
  'queued',
  'submitted',
  'included',
  'failed',
];
