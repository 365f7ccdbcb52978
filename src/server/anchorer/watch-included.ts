import type { PlaceStanding } from '../../chain/standings.ts';
import type { IncludedAttempt, MinedAttempt, Standings } from '../core/anchor-store.ts';
import type { AnchoringContext } from './anchoring-context.ts';
import type { LiveAttempts } from './attempts.ts';
import { sendLost } from './lost.ts';

/** Attempts in each of the three parts of a look. */
const WATCHED = 32;

export interface IncludedWatch {
  /**
   * Looks at what is in a block and not final: the lowest blocks, which get final; the highest, which a reorganisation
   * replaces first; and from look to look the next ones between them.
   */
  look(live: LiveAttempts): Promise<IncludedLook>;
}

export interface IncludedLook {
  readonly standings: Standings;
  /** How many attempts were looked at. */
  readonly count: number;
  /** Whether the next look is to follow at once. */
  readonly isMoreDue: boolean;
}

type WatchedAttempt = IncludedAttempt & Partial<Pick<MinedAttempt, 'isFinal'>>;
type Place = Pick<IncludedAttempt, 'blockNumber' | 'id'>;

export function createIncludedWatch(context: AnchoringContext): IncludedWatch {
  const { store, lease } = context;
  /** What lies below it is looked at next; null: from the highest ones on. */
  let cursor: Place | null = null;
  /** What the chain may have lost, final or not, and of which no other block was seen yet. */
  let lost: MinedAttempt[] = [];

  /** None where lowest and highest are all there are. */
  async function between(ends: readonly IncludedAttempt[]): Promise<IncludedAttempt[]> {
    const [lowest, highest] = [ends[WATCHED - 1], ends[WATCHED]];
    if (lowest === undefined || highest === undefined || ends.length < 2 * WATCHED) return [];
    cursor ??= highest;
    const next = await store.listIncludedBelow(lease, cursor, WATCHED);
    const last = next.at(-1);
    cursor = last === undefined || isBelow(last, lowest) ? null : last;
    return next;
  }

  return {
    async look(live) {
      if (live.lostFrom !== null) lost = await sendLost(context, live.lostFrom);
      const ends = await store.listIncludedAttempts(lease, WATCHED);
      const all: WatchedAttempt[] = [...ends, ...(await between(ends)), ...lost];
      const included = [...new Map(all.map((one) => [one.id, one])).values()];
      const { unknown, ...standings } = await standingsOf(context, included);
      lost = lost.filter(({ id }) => unknown.has(id));
      const replaced = new Set(standings.reorged);
      // How far down a reorganisation goes is to be seen next.
      cursor = ends.slice(WATCHED).find(({ id }) => replaced.has(id)) ?? cursor;
      const isMoreDue = standings.finalized.length >= WATCHED || replaced.size > 0;
      return { standings, count: included.length, isMoreDue };
    },
  };
}

function isBelow(a: Place, b: Place): boolean {
  return a.blockNumber === b.blockNumber ? a.id <= b.id : a.blockNumber < b.blockNumber;
}

async function standingsOf(
  { chain, identity, signal }: AnchoringContext,
  included: readonly WatchedAttempt[],
): Promise<Standings & { unknown: ReadonlySet<string> }> {
  if (included.length === 0) return { safe: [], finalized: [], reorged: [], unknown: new Set() };
  const { standings } = await chain.readStandings({ identity, places: included }, signal);
  const known = (is: (one: WatchedAttempt) => boolean | undefined) =>
    new Set(included.filter(is).map(({ id }) => id));
  const isFinal = known((attempt) => attempt.isFinal);
  const isSafe = known((attempt) => attempt.isSafe || attempt.isFinal);
  const those = (is: (one: PlaceStanding) => boolean) => standings.filter(is).map(({ id }) => id);
  return {
    safe: those(({ id, finality }) => finality === 'safe' && !isSafe.has(id)),
    finalized: those(({ id, finality }) => finality === 'finalized' && !isFinal.has(id)),
    reorged: those(({ standing }) => standing === 'replaced'),
    unknown: new Set(those(({ standing }) => standing === 'unknown')),
  };
}
