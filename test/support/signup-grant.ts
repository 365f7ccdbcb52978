import type { SignupGrant } from '../../src/server/ports/sign-in.ts';

/** The grant of a new account, at once and without a daily limit. */
export const signupGrant = (anchors: number, gasWei: bigint): SignupGrant => ({
  anchors,
  gasWei,
  delayMs: 0,
  anchorsPerDay: null,
});
