/**
 * Pauses of an anchor loop that does in tenths of a second what takes seconds on a public chain.
 * @type {import('../../src/server/anchoring/context.ts').AnchoringPauses}
 */
export const quickPauses = {
  blockMs: 100,
  pollMs: 20,
  senderStateMs: 50,
  idleMs: 50,
  bumpAgainMs: 50,
  refusedMs: 250,
  failedLookMs: 250,
  firstNonceMs: 50,
  chainProofsMs: 100,
  chainProofRetryMs: 2_000,
};

/**
 * Pauses of an agent that tries again in tenths of a second.
 * @type {import('../../src/agent/uploads/retry.ts').UploaderPauses}
 */
export const quickUploaderPauses = {
  lookMs: 50,
  liveEveryMs: 100,
  keyCheck: { firstMs: 50, maxMs: 50 },
  usual: { firstMs: 50, maxMs: 300 },
  lost: { firstMs: 50, maxMs: 300 },
  unexpected: { firstMs: 50, maxMs: 300 },
  poll: { firstMs: 50, maxMs: 300 },
  credits: { firstMs: 200, maxMs: 1_000 },
  identity: { firstMs: 50, maxMs: 100 },
  promiseKeysMs: 200,
  signCommandMs: 1_000,
  spool: { firstMs: 100, maxMs: 1_000 },
};
