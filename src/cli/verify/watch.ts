// Waits for an anchor to become final (`svc verify --watch`).
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../base/svc-error.ts';
import type { Context } from '../context.ts';
import type { Finding } from './finding.ts';

/** Shorter than the block time of most chains. */
const POLL_MS = 2_000;

/**
 * Repeats `look` until the anchor is final or refuted. After `timeout` seconds it resolves with the last finding as
 * pending. Retryable errors, such as a node that does not answer, are retried until then.
 */
export function watchFinding(
  { output, wait }: Context,
  look: () => Promise<Finding>,
  timeout = Number.POSITIVE_INFINITY,
): Promise<Finding> {
  const deadline = performance.now() + timeout * 1000;
  let noted = '';
  const noteOnce = (text: string) => {
    if (text !== noted) output.note(text);
    noted = text;
  };
  return wait('Waiting until the anchor is final', async () => {
    for (;;) {
      const isLast = performance.now() + POLL_MS > deadline;
      try {
        const finding = await look();
        if (finding.outcome === 'not_verified' || finding.finality === 'finalized') return finding;
        if (isLast) return { ...finding, outcome: 'pending' };
        noteOnce(stateOf(finding));
      } catch (error) {
        if (isLast || !(error instanceof SvcError && error.retryable)) throw error;
        noteOnce(`${error.message} Retrying every 2 s.`);
      }
      await sleep(POLL_MS);
    }
  });
}

function stateOf({ outcome, finality, txHash }: Finding): string {
  const where = outcome === 'pending' ? 'not in the chain yet' : finality;
  return txHash === null ? `${where}` : `${where}, ${txHash}`;
}
