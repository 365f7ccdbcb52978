import type { Survey } from '../../chain/survey.ts';
import type { AnchoringContext } from './anchoring-context.ts';
import type { LiveAttempts } from './attempts.ts';

/**
 * Whether the sender's count may become its first nonce: seen twice, the second time at a later head, or
 * for long where blocks are made on demand. All later nonces rest on it, so one lie must not decide it.
 */
export function isCountSettled(
  { options }: AnchoringContext,
  live: LiveAttempts,
  { latestNonce, headNumber }: Survey,
): boolean {
  const now = performance.now();
  if (live.firstCount?.latestNonce !== latestNonce) {
    live.firstCount = { latestNonce, headNumber, since: now };
  }
  const { firstCount } = live;
  if (headNumber > firstCount.headNumber) return true;
  return now - firstCount.since >= options.pauses.firstNonceMs;
}
