import type { Hex } from '../proof/bytes.ts';
import { askInParts } from './ask-in-parts.ts';
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
import { lesser } from './lesser.ts';
import { type Ask, resultOf } from './rpc.ts';
import type { RpcAnswer } from './rpc-answers.ts';

/** Where a transaction was found before. */
export interface Place {
  readonly id: string;
  readonly txHash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}

export interface StandingsSubject {
  readonly identity: Identity;
  readonly places: readonly Place[];
}

export interface PlaceStanding {
  readonly id: string;
  /**
   * `replaced`: another block stands at the number, by the word of a node that is at or past it.
   * `unknown`: nothing can be concluded.
   */
  readonly standing: 'canonical' | 'replaced' | 'unknown';
  /** `included` unless canonical. */
  readonly finality: Finality;
}

export interface Standings {
  readonly heads: Heads;
  /** In the order of the places. */
  readonly standings: readonly PlaceStanding[];
}

/**
 * Whether the blocks that held transactions are canonical still, and how final. Without places: the
 * heads alone. Rejects with ProviderFault, and SvcError `chain_mismatch` when another chain answers.
 */
export async function readStandings(
  ask: Ask,
  { identity, places }: StandingsSubject,
  finality: FinalityRule,
  signal?: AbortSignal,
): Promise<Standings> {
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
    standings: places.map((place) =>
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
): PlaceStanding {
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
