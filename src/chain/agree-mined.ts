import type { Found, MinedAnchor, SentAnchor } from './find-mined.ts';
import { lesser } from './lesser.ts';
import type { Still } from './poll.ts';

/**
 * What several URLs come to about the same search: a mined anchor counts when `quorum` of them say the
 * same of it. Undefined while an answer still to come can bring that about, or is in time to say what it
 * has seen.
 */
export function agreeOnMined(
  anchors: readonly SentAnchor[],
  voices: readonly Found[],
  terms: Still & { quorum: number; configured: number; askAll: boolean },
): Found | undefined {
  const words = voices.map(({ headNumber, mined }) => ({
    headNumber,
    byId: new Map(mined.map((anchor) => [anchor.id, anchor])),
  }));
  const verdicts = anchors.map(({ id }) =>
    verdictOn(
      words.map(({ headNumber, byId }) => ({ headNumber, anchor: byId.get(id) ?? null })),
      terms.quorum,
    ),
  );
  const canChange = ({ agreed, votes }: Verdict) =>
    !agreed && (!terms.isLate || votes + terms.open >= terms.quorum);
  if (terms.open > 0 && (terms.askAll || verdicts.some(canChange))) return undefined;
  return {
    headNumber: words.map(({ headNumber }) => headNumber).reduce(lesser),
    mined: verdicts.flatMap(({ anchor }) => anchor ?? []),
    isUnanimous: voices.length === terms.configured,
  };
}

interface Word {
  readonly headNumber: bigint;
  /** Null: this URL knows no receipt. */
  readonly anchor: MinedAnchor | null;
}

interface Verdict {
  readonly agreed: boolean;
  /** How many say what most say of where it was mined. */
  readonly votes: number;
  readonly anchor: MinedAnchor | null;
}

function verdictOn(words: readonly Word[], quorum: number): Verdict {
  const counted = new Map<string, MinedAnchor[]>();
  for (const { anchor } of words) {
    if (anchor === null || anchor.outcome === 'shallow') continue;
    const key = keyOf(anchor);
    counted.set(key, [...(counted.get(key) ?? []), anchor]);
  }
  const most = [...counted.values()].reduce<MinedAnchor[]>(
    (best, group) => (group.length > best.length ? group : best),
    [],
  );
  const agreed = most.length >= quorum;
  return {
    agreed,
    votes: most.length,
    anchor: agreed ? (most[0] ?? null) : seenBy(words),
  };
}

/** A receipt that no URL at or past its block misses: the others are behind, so it waits to be deep. */
function seenBy(words: readonly Word[]): MinedAnchor | null {
  const seen = words.flatMap(({ anchor }) => anchor ?? []);
  const [first] = seen;
  if (first === undefined) return null;
  const blockNumber = seen.map(blockOf).reduce(lesser);
  const isMissed = words.some((word) => word.anchor === null && word.headNumber >= blockNumber);
  return isMissed ? null : { id: first.id, outcome: 'shallow', blockNumber };
}

function blockOf(anchor: MinedAnchor): bigint {
  return anchor.outcome === 'shallow' ? anchor.blockNumber : anchor.mined.blockNumber;
}

function keyOf(anchor: MinedAnchor): string {
  return JSON.stringify(anchor, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
