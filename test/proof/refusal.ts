import { StrictJsonError } from '../../src/proof/strict-json-error.ts';

/** The refusal that `act` ends in; fails when it ends otherwise. */
export function refusalOf(act: () => unknown): StrictJsonError {
  try {
    act();
  } catch (error) {
    if (error instanceof StrictJsonError) return error;
    throw error;
  }
  throw new Error('accepted');
}
