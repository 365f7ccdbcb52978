import type { NonceReading, NonceTrail } from './find-nonce-use.ts';
import { lesser } from './lesser.ts';
import type { NonceUse } from './nonce-use.ts';

export interface NonceFinding {
  /** What every configured URL shows, final if all call it so; null unless they all show the same. */
  readonly use: NonceUse | null;
  /** For the next search of this nonce. */
  readonly trail: NonceTrail;
}

/** What the URLs come to that have answered. A use is what another anchor may rest on, so none may be silent. */
export function agreeOnNonceUse(
  readings: readonly NonceReading[],
  configured: number,
): NonceFinding {
  const uses = readings.flatMap(({ use }) => use ?? []);
  const [first] = uses;
  const isShared =
    uses.length === configured &&
    uses.every(
      ({ txHash, blockHash }) => txHash === first?.txHash && blockHash === first.blockHash,
    );
  const unread = readings.flatMap(({ below }) => below ?? []);
  return {
    use:
      first !== undefined && isShared
        ? { ...first, isFinal: uses.every(({ isFinal }) => isFinal) }
        : null,
    trail: {
      blocks: [...new Set(uses.map(({ blockNumber }) => blockNumber))],
      below: unread.length === 0 ? null : unread.reduce(lesser),
    },
  };
}
