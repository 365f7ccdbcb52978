// Whether blocks that held anchors are still canonical, and how final they are.
import type { Hex } from '../proof/bytes.ts';
import { headerAt } from './decode.ts';
import {
  type Finality,
  type FinalityRule,
  finalityOf,
  type Heads,
  headCalls,
  headsOf,
} from './finality.ts';
import { answersOn, type Identity, identityCalls } from './identity.ts';
import { type Ask, askInParts, type RpcAnswer, resultOf } from './rpc.ts';
import { lesser } from './sender-state.ts';

/** Where a transaction was found before. */
export interface Place {
  readonly id: string;
  readonly txHash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}

export interface InclusionSubject {
  readonly identity: Identity;
  readonly places: readonly Place[];
}

export interface PlaceInclusion {
  readonly id: string;
  /**
   * `replaced`: another block stands at the number, by the word of a node that is at or past it.
   * `unknown`: nothing can be concluded.
   */
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
 * Whether the blocks that held transactions are canonical still, and how final. Without places: the
 * heads alone. Rejects with ProviderFault, and SvcError `chain_mismatch` when another chain answers.
 */
export async function readInclusion(
  ask: Ask,
  { identity, places }: InclusionSubject,
  finality: FinalityRule,
  signal?: AbortSignal,
): Promise<InclusionReading> {
  const head = [...identityCalls, ...headCalls(finality)];
  const numbers = numbersOf(places);
  const parts = await askInParts(ask, { head, calls: numbers.map(blockCall) }, signal);
  const readings = parts.map((part) => {
    const answers = answersOn(identity, part);
    return { heads: headsOf(answers, finality), blocks: answers.slice(headCalls(finality).length) };
  });
  const heads = readings.map((reading) => reading.heads).reduce(lowestHeads);
  const blocks = readings.flatMap((reading) => reading.blocks);
  const hashes = new Map(numbers.map((number, i) => [number, hashAt(number, blocks[i])]));
  return {
    heads,
    inclusions: places.map((place) =>
      standingOf(place, hashes.get(place.blockNumber) ?? null, heads),
    ),
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
  standsThere: Hex | null,
  heads: Heads,
): PlaceInclusion {
  if (standsThere === blockHash) {
    return { id, standing: 'canonical', finality: finalityOf(blockNumber, heads) };
  }
  // A block that is missing, or comes from a node that is behind, proves nothing.
  const isKnown = standsThere !== null && heads.head >= blockNumber;
  return { id, standing: isKnown ? 'replaced' : 'unknown', finality: 'included' };
}

function numbersOf(places: readonly Place[]): bigint[] {
  return [...new Set(places.map(({ blockNumber }) => blockNumber))];
}

function blockCall(number: bigint) {
  return { method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, false] };
}

function hashAt(number: bigint, answer: RpcAnswer | undefined): Hex | null {
  // Some nodes refuse a block that they do not have yet.
  return answer?.ok === false ? null : (headerAt(number, resultOf(answer))?.hash ?? null);
}

/**
 * What several URLs come to about the same places. Canonical is what one of them shows, safe or final
 * what `quorum` of them do, replaced what at least one says and none denies. Undefined while an answer still
 * to come can matter.
 */
export function inclusionByQuorum(
  places: readonly Place[],
  voices: readonly InclusionReading[],
  terms: { quorum: number; open: number },
): InclusionReading | undefined {
  const words = places.map((_, i) => voices.flatMap(({ inclusions }) => inclusions[i] ?? []));
  const isShown = (word: PlaceInclusion[]) =>
    word.filter(({ standing }) => standing === 'canonical').length >= terms.quorum;
  const isEnough = voices.length >= terms.quorum && words.every(isShown);
  if (terms.open > 0 && !isEnough) return undefined;
  return {
    heads: headsByQuorum(
      voices.map(({ heads }) => heads),
      terms.quorum,
    ),
    inclusions: places.map(({ id }, i) => placeByQuorum(id, words[i] ?? [], terms.quorum)),
  };
}

function placeByQuorum(
  id: string,
  words: readonly PlaceInclusion[],
  quorum: number,
): PlaceInclusion {
  const shown = words.filter(({ standing }) => standing === 'canonical');
  if (shown.length > 0)
    return { id, standing: 'canonical', finality: finalityByQuorum(shown, quorum) };
  const isReplaced = words.some(({ standing }) => standing === 'replaced');
  return { id, standing: isReplaced ? 'replaced' : 'unknown', finality: 'included' };
}

function finalityByQuorum(shown: readonly PlaceInclusion[], quorum: number): Finality {
  const reach = (...names: Finality[]) =>
    shown.filter(({ finality }) => names.includes(finality)).length >= quorum;
  if (reach('finalized')) return 'finalized';
  return reach('safe', 'finalized') ? 'safe' : 'included';
}

/** The highest that `quorum` of them have reached; a node that is far behind holds nobody up. */
function headsByQuorum(heads: readonly Heads[], quorum: number): Heads {
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
