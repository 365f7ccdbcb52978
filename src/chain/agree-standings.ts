import type { Finality, Heads } from './finality.ts';
import type { Place, PlaceStanding, Standings } from './standings.ts';

/**
 * What several URLs come to about the same places. Canonical is what one of them shows, safe or final
 * what `quorum` of them do, replaced what at least one says and none denies. Undefined while an answer still
 * to come can matter.
 */
export function agreeOnStandings(
  places: readonly Place[],
  voices: readonly Standings[],
  terms: { quorum: number; open: number },
): Standings | undefined {
  const words = places.map((_, i) => voices.flatMap(({ standings }) => standings[i] ?? []));
  const isShown = (word: PlaceStanding[]) =>
    word.filter(({ standing }) => standing === 'canonical').length >= terms.quorum;
  const isEnough = voices.length >= terms.quorum && words.every(isShown);
  if (terms.open > 0 && !isEnough) return undefined;
  return {
    heads: agreedHeads(
      voices.map(({ heads }) => heads),
      terms.quorum,
    ),
    standings: places.map(({ id }, i) => agreedStanding(id, words[i] ?? [], terms.quorum)),
  };
}

function agreedStanding(
  id: string,
  words: readonly PlaceStanding[],
  quorum: number,
): PlaceStanding {
  const shown = words.filter(({ standing }) => standing === 'canonical');
  if (shown.length > 0)
    return { id, standing: 'canonical', finality: agreedFinality(shown, quorum) };
  const isReplaced = words.some(({ standing }) => standing === 'replaced');
  return { id, standing: isReplaced ? 'replaced' : 'unknown', finality: 'included' };
}

function agreedFinality(shown: readonly PlaceStanding[], quorum: number): Finality {
  const reach = (...names: Finality[]) =>
    shown.filter(({ finality }) => names.includes(finality)).length >= quorum;
  if (reach('finalized')) return 'finalized';
  return reach('safe', 'finalized') ? 'safe' : 'included';
}

/** The highest that `quorum` of them have reached; a node that is far behind holds nobody up. */
function agreedHeads(heads: readonly Heads[], quorum: number): Heads {
  return {
    head:
      reached(
        heads.map(({ head }) => head),
        Math.min(quorum, heads.length),
      ) ?? 0n,
    safe: reached(
      heads.map(({ safe }) => safe),
      quorum,
    ),
    finalized: reached(
      heads.map(({ finalized }) => finalized),
      quorum,
    ),
  };
}

function reached(numbers: readonly (bigint | null)[], quorum: number): bigint | null {
  const known = numbers.filter((number) => number !== null);
  return known.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))[quorum - 1] ?? null;
}
