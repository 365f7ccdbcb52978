// Builds and stores chain proofs of final anchors, concurrently with the anchor loops of all accounts.
import { backoffMs } from '../../base/async/backoff.ts';
import { passed } from '../../base/async/on-abort.ts';
import { ProviderError } from '../../chain/errors.ts';
import type { UnprovenAnchor } from '../ports/anchoring.ts';
import { isSignedAnchor, provesPlace } from '../rules/anchoring.ts';
import type { AnchorerDependencies } from './context.ts';

/** Number of blocks read and hashed at the same time: a full one is some megabytes of JSON. */
const AT_ONCE = 2;

/** After so many tries, in about 15 minutes, the log names an anchor whose block no node reproduces. */
const TRIES_UNTIL_WARNING = 5;

/** Longest time until an anchor is taken again: a later version may encode what this one does not. */
const LONGEST_RETRY_MS = 30 * 24 * 60 * 60_000;

/** Shortest pause between two rounds, so that a long queue leaves the nodes to anchoring and verification. */
const SHORTEST_PAUSE_MS = 250;

/** Longest pause after rounds that failed, whichever anchors they took. */
const LONGEST_PAUSE_MS = 60_000;

/**
 * Step 8: builds the chain proofs of final anchors until the signal aborts. Never rejects: no receipt depends on it.
 * What was taken and not recorded, after a crash or an error, is due again later.
 */
export async function keepChainProofs(deps: AnchorerDependencies, signal: AbortSignal) {
  const { store, clock, logger, options } = deps;
  const { chainProofsMs, chainProofRetryMs } = options.pauses;
  const pauses = { firstMs: chainProofsMs, maxMs: LONGEST_PAUSE_MS };
  const retry = { firstMs: chainProofRetryMs, maxMs: LONGEST_RETRY_MS };
  let failures = 0;
  while (!signal.aborted) {
    let isMoreDue = false;
    let retryAfterMs = 0;
    try {
      const anchors = await store.takeUnproven(AT_ONCE, retry, clock.now());
      const built = await Promise.allSettled(anchors.map((one) => prove(deps, one, signal)));
      for (const result of built) if (result.status === 'rejected') throw result.reason;
      if (anchors.length > 0) failures = 0;
      isMoreDue = anchors.length === AT_ONCE;
    } catch (err) {
      if (signal.aborted) return;
      failures += 1;
      const detail = err instanceof ProviderError ? { reason: err.reason } : { err };
      if (err instanceof ProviderError) retryAfterMs = err.retryAfterMs ?? 0;
      if (failures === 1) logger.warn(detail, 'failed to build chain proofs; retrying');
    }
    const pauseMs = failures > 0 ? backoffMs(failures, pauses) : chainProofsMs;
    await passed(isMoreDue ? SHORTEST_PAUSE_MS : Math.max(pauseMs, retryAfterMs), signal);
  }
}

async function prove(
  { store, chain, logger, onStep }: AnchorerDependencies,
  anchor: UnprovenAnchor,
  signal: AbortSignal,
): Promise<void> {
  const built = await chain.chainProof(anchor, signal);
  const isProven = built !== null && provesPlace(anchor, built) && isSignedAnchor(anchor);
  if (!isProven) {
    const place = { tx_hash: anchor.txHash, block_number: anchor.blockNumber.toString() };
    if (anchor.tries === TRIES_UNTIL_WARNING) logger.warn(place, 'no chain proof can be built yet');
    return;
  }
  await onStep?.('chain_proof_built');
  await store.recordChainProof(anchor, built);
  await onStep?.('chain_proof_recorded');
}
