/**
 * Pauses of an anchor loop that does in tenths of a second what takes seconds on a public chain.
 * @type {import('../../src/server/anchorer/anchoring-context.ts').AnchoringPauses}
 */
export const quickPauses = {
  blockMs: 100,
  pollMs: 20,
  surveyMs: 50,
  bumpAgainMs: 50,
  refusedMs: 250,
  failedLookMs: 250,
  firstNonceMs: 50,
};
