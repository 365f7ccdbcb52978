import { ProviderFault } from './errors.ts';
import type { Finality } from './finality.ts';
import type { Still } from './poll.ts';
import type { AnchorReading } from './read-anchor.ts';

/** Time until providers that lag behind each other have caught up, as a rule. */
const CATCH_UP_MS = 1_000;

/**
 * What several URLs come to about one transaction. That it is in the canonical chain is believed of `quorum`
 * of them, that it is not only of all that answer. Undefined while an answer still to come can matter, and while those in
 * time could contradict as one; throws ProviderFault when they do not agree.
 */
export function agreeOnReading(
  readings: readonly AnchorReading[],
  { quorum, open, isLate }: Still & { quorum: number },
): AnchorReading | undefined {
  const texts = readings.map(({ facts }) => JSON.stringify(facts));
  const groups = [...new Set(texts)].map((text) => readings.filter((_, i) => texts[i] === text));
  const agreed = groups.filter(
    ([reading, ...others]) =>
      others.length + 1 >= quorum &&
      (reading?.confirmations !== null || (open === 0 && groups.length === 1)),
  );
  const [group, ...rivals] = agreed;
  const others = groups.filter((one) => one !== group).map(({ length }) => length);
  const isContestable = !isLate && open > 0 && open + Math.max(0, ...others) >= quorum;
  if (group !== undefined && rivals.length === 0 && !isContestable) return group.reduce(lower);
  if (open > 0) return undefined;
  throw new ProviderFault(
    groups.length > 1 ? 'the providers do not agree' : 'too few providers answer',
    { retryAfterMs: CATCH_UP_MS },
  );
}

const order: readonly (Finality | null)[] = [null, 'included', 'safe', 'finalized'];

function lower(a: AnchorReading, b: AnchorReading): AnchorReading {
  const isLower = (b.confirmations ?? 0n) < (a.confirmations ?? 0n);
  return {
    facts: a.facts,
    confirmations: isLower ? b.confirmations : a.confirmations,
    finality: order.indexOf(b.finality) < order.indexOf(a.finality) ? b.finality : a.finality,
  };
}
