import type { PlaceStanding } from '../../chain/standings.ts';
import type { IncludedAttempt, Standings } from '../core/anchor-store.ts';
import type { AnchoringContext } from './anchoring-context.ts';
import type { LiveAttempts } from './attempts.ts';

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

type Place = Pick<IncludedAttempt, 'blockNumber' | 'id'>;

export function createIncludedWatch(context: AnchoringContext): IncludedWatch {
  const { store, lease } = context;
  /** What lies below it is looked at next; null: from the highest ones on. */
  let cursor: Place | null = null;

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
      if (live.lostFrom !== null) await sendLost(context, live.lostFrom);
      const ends = await store.listIncludedAttempts(lease, WATCHED);
      const all = [...ends, ...(await between(ends))];
      const included = [...new Map(all.map((attempt) => [attempt.id, attempt])).values()];
      const standings = await standingsOf(context, included);
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

/** The chain has lost what was mined: the lowest nonce first, because some nodes take no other before it. */
async function sendLost(
  { store, chain, lease, signal, options }: AnchoringContext,
  fromNonce: number,
): Promise<void> {
  const { maxInFlight } = options;
  const [lowest, ...rest] = await store.listMinedTransactions(lease, fromNonce, maxInFlight);
  if (lowest === undefined) return;
  await chain.broadcast(lowest, signal);
  await Promise.all(rest.map((rawTx) => chain.broadcast(rawTx, signal)));
}

async function standingsOf(
  { chain, identity, signal }: AnchoringContext,
  included: readonly IncludedAttempt[],
): Promise<Standings> {
  if (included.length === 0) return { safe: [], finalized: [], reorged: [] };
  const { standings } = await chain.readStandings({ identity, places: included }, signal);
  const isSafe = new Set(included.filter((attempt) => attempt.isSafe).map(({ id }) => id));
  const those = (is: (one: PlaceStanding) => boolean) => standings.filter(is).map(({ id }) => id);
  return {
    safe: those(({ id, finality }) => finality === 'safe' && !isSafe.has(id)),
    finalized: those(({ finality }) => finality === 'finalized'),
    reorged: those(({ standing }) => standing === 'replaced'),
  };
}
