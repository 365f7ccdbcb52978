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
      terms,
    ),
  );
  const canChange = ({ agreed, votes }: Verdict) =>
    !agreed && (!terms.isLate || votes + terms.open >= terms.quorum);
  if (terms.open > 0 && (terms.askAll || verdicts.some(canChange))) return undefined;
  return {
    headNumber: words.map(({ headNumber }) => headNumber).reduce(lesser),
    mined: verdicts.flatMap(({ anchor }) => anchor ?? []),
    isUnanimous:
      voices.length === terms.configured &&
      verdicts.every(({ anchor, isSeen }) => anchor !== null || !isSeen),
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
  /** Whether any URL knows a receipt. */
  readonly isSeen: boolean;
  readonly anchor: MinedAnchor | null;
}

function verdictOn(
  words: readonly Word[],
  { quorum, askAll }: { quorum: number; askAll: boolean },
): Verdict {
  const seen = words.flatMap(({ anchor }) => anchor ?? []);
  const most = mostOf(seen.filter(({ outcome }) => outcome !== 'shallow'));
  const agreed = most.length >= quorum;
  const [first] = most;
  // Where all are asked, a failure is to be believed: then nobody may have seen anything better.
  const isDenied = first?.outcome !== 'success' && seen.some(isHopeful);
  const isTaken = agreed && !(askAll && isDenied);
  return {
    agreed,
    votes: most.length,
    isSeen: seen.length > 0,
    anchor: isTaken ? (first ?? null) : seenAt(words, seen, askAll),
  };
}

function isHopeful({ outcome }: MinedAnchor): boolean {
  return outcome === 'success' || outcome === 'shallow';
}

/** The largest group of those that say the same. */
function mostOf(anchors: readonly MinedAnchor[]): readonly MinedAnchor[] {
  const groups = new Map<string, MinedAnchor[]>();
  for (const anchor of anchors) {
    const key = keyOf(anchor);
    groups.set(key, [...(groups.get(key) ?? []), anchor]);
  }
  return [...groups.values()].reduce<readonly MinedAnchor[]>(
    (most, group) => (group.length > most.length ? group : most),
    [],
  );
}

/**
 * A receipt that no URL at or past its block misses: the others are behind, so it waits to be deep. Where all are
 * asked, any receipt, because absence would mean that nobody has one.
 */
function seenAt(
  words: readonly Word[],
  seen: readonly MinedAnchor[],
  askAll: boolean,
): MinedAnchor | null {
  const [first] = seen;
  if (first === undefined) return null;
  const blockNumber = seen.map(blockOf).reduce(lesser);
  const isMissed = words.some((word) => word.anchor === null && word.headNumber >= blockNumber);
  return isMissed && !askAll ? null : { id: first.id, outcome: 'shallow', blockNumber };
}

function blockOf(anchor: MinedAnchor): bigint {
  return anchor.outcome === 'shallow' ? anchor.blockNumber : anchor.mined.blockNumber;
}

function keyOf(anchor: MinedAnchor): string {
  return JSON.stringify(anchor, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
