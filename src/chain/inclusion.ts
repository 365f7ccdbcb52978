// Whether blocks that held anchors are still canonical, and how final they are.
import type { Hex } from '../proof/bytes.ts';
import type { BlockPlace } from './chain-proof.ts';
import { headerAt } from './decode.ts';
import {
  type Finality,
  type FinalityRule,
  finalityOf,
  type Heads,
  headCalls,
  headsOf,
} from './finality.ts';
import { askChain, type Identity } from './identity.ts';
import { type Ask, blockCall, type RpcAnswer, resultOf } from './rpc.ts';
import { lesser } from './sender-state.ts';

/** Where a transaction was mined, as far as known. */
export interface Place extends Omit<BlockPlace, 'txIndex'> {
  readonly id: string;
}

export interface InclusionSubject {
  readonly identity: Identity;
  readonly places: readonly Place[];
}

export interface PlaceInclusion {
  readonly id: string;
  /** `replaced`: a node at or past the number has another block there. `unknown`: nothing can be concluded. */
  readonly standing: 'canonical' | 'replaced' | 'unknown';
  /** `included` unless canonical. */
  readonly finality: Finality;
}

export interface InclusionReading {
  readonly heads: Heads;
  /** In the order of the places. */
  readonly inclusions: readonly PlaceInclusion[];
}

/**
 * Reads whether the blocks of transactions are still canonical, and how final they are. Without places it reads only
 * the heads. Rejects with ProviderError, and with SvcError `chain_mismatch` if another chain answers.
 */
export async function readInclusion(
  ask: Ask,
  { identity, places }: InclusionSubject,
  finality: FinalityRule,
  signal?: AbortSignal,
): Promise<InclusionReading> {
  const head = headCalls(finality);
  const numbers = [...new Set(places.map(({ blockNumber }) => blockNumber))];
  const calls = numbers.map((number) => blockCall(number));
  const parts = await askChain(ask, identity, { head, calls }, signal);
  const heads = parts.map((answers) => headsOf(answers, finality)).reduce(lowestHeads);
  const blocks = parts.flatMap((answers) => answers.slice(head.length));
  const hashes = new Map(numbers.map((number, i) => [number, hashAt(number, blocks[i])]));
  return {
    heads,
    inclusions: places.map((place) =>
      standingOf(place, hashes.get(place.blockNumber) ?? null, heads),
    ),
  };
}

/**
 * Combines the results of several URLs for the same places. `canonical` needs one URL; `safe` and `finalized` need
 * `quorum`; `replaced` needs at least one, and none that shows the block as canonical. Undefined while an open answer
 * can still matter.
 */
export function inclusionByQuorum(
  places: readonly Place[],
  results: readonly InclusionReading[],
  terms: { quorum: number; open: number },
): InclusionReading | undefined {
  const reports = places.map((_, i) => results.flatMap(({ inclusions }) => inclusions[i] ?? []));
  const isShown = (report: PlaceInclusion[]) =>
    report.filter(({ standing }) => standing === 'canonical').length >= terms.quorum;
  const isEnough = results.length >= terms.quorum && reports.every(isShown);
  if (terms.open > 0 && !isEnough) return undefined;
  return {
    heads: headsByQuorum(
      results.map(({ heads }) => heads),
      terms.quorum,
    ),
    inclusions: places.map(({ id }, i) => placeByQuorum(id, reports[i] ?? [], terms.quorum)),
  };
}

function lowestHeads(a: Heads, b: Heads): Heads {
  return {
    head: lesser(a.head, b.head),
    safe: lower(a.safe, b.safe),
    finalized: lower(a.finalized, b.finalized),
  };
}

function lower(a: bigint | null, b: bigint | null): bigint | null {
  return a === null || b === null ? null : lesser(a, b);
}

function standingOf(
  { id, blockNumber, blockHash }: Place,
  currentHash: Hex | null,
  heads: Heads,
): PlaceInclusion {
  if (currentHash === blockHash) {
    return { id, standing: 'canonical', finality: finalityOf(blockNumber, heads) };
  }
  // A missing block, or one from a node that is behind, proves nothing.
  const isKnown = currentHash !== null && heads.head >= blockNumber;
  return { id, standing: isKnown ? 'replaced' : 'unknown', finality: 'included' };
}

function hashAt(number: bigint, answer: RpcAnswer | undefined): Hex | null {
  // Some nodes refuse a block that they do not have yet.
  return answer?.ok === false ? null : (headerAt(number, resultOf(answer))?.hash ?? null);
}

function placeByQuorum(
  id: string,
  reports: readonly PlaceInclusion[],
  quorum: number,
): PlaceInclusion {
  const shown = reports.filter(({ standing }) => standing === 'canonical');
  if (shown.length > 0)
    return { id, standing: 'canonical', finality: finalityByQuorum(shown, quorum) };
  const isReplaced = reports.some(({ standing }) => standing === 'replaced');
  return { id, standing: isReplaced ? 'replaced' : 'unknown', finality: 'included' };
}

function finalityByQuorum(shown: readonly PlaceInclusion[], quorum: number): Finality {
  const reach = (...names: Finality[]) =>
    shown.filter(({ finality }) => names.includes(finality)).length >= quorum;
  if (reach('finalized')) return 'finalized';
  return reach('safe', 'finalized') ? 'safe' : 'included';
}

/** The highest heads that `quorum` URLs have reached, so that a node that is far behind delays nothing. */
export function headsByQuorum(heads: readonly Heads[], quorum: number): Heads {
  const reached = (name: keyof Heads, by = quorum) => {
    const known = heads.map((one) => one[name]).filter((number) => number !== null);
    return known.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))[by - 1] ?? null;
  };
  return {
    head: reached('head', Math.min(quorum, heads.length)) ?? 0n,
    safe: reached('safe'),
    finalized: reached('finalized'),
  };
}
