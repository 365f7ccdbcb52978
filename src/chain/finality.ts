import { headerOf, quantityOf } from './decode.ts';
import { meaningOf } from './errors.ts';
import { type RpcCall, resultOf } from './rpc.ts';
import type { RpcAnswer } from './rpc-answers.ts';

export type Finality = 'included' | 'safe' | 'finalized';

/** Block numbers; null where nothing is safe or finalized yet. */
export interface Heads {
  readonly head: bigint;
  readonly safe: bigint | null;
  readonly finalized: bigint | null;
}

/** Blocks until finality where neither the configuration nor the chain says: two epochs of Ethereum. */
const DEPTH_WITHOUT_TAGS = 64;

/** `depth`: blocks, the including one counted, that stand for the chain's own tags; null asks for the tags. */
export function headCalls(depth: number | null): RpcCall[] {
  const head = { method: 'eth_blockNumber', params: [] };
  if (depth !== null) return [head];
  return [
    head,
    { method: 'eth_getBlockByNumber', params: ['safe', false] },
    { method: 'eth_getBlockByNumber', params: ['finalized', false] },
  ];
}

/** Reads the answers to `headCalls`; a chain without tags goes by 64 blocks. */
export function headsOf(answers: readonly RpcAnswer[], depth: number | null): Heads {
  const head = quantityOf(resultOf(answers[0]));
  if (depth !== null) return byDepth(head, depth);
  const [safe, finalized] = [tagged(answers[1]), tagged(answers[2])];
  if (finalized === null) return byDepth(head, DEPTH_WITHOUT_TAGS);
  return { head, safe: safe === null || safe < finalized ? finalized : safe, finalized };
}

export function finalityOf(blockNumber: bigint, { safe, finalized }: Heads): Finality {
  if (finalized !== null && finalized >= blockNumber) return 'finalized';
  return safe !== null && safe >= blockNumber ? 'safe' : 'included';
}

function byDepth(head: bigint, depth: number): Heads {
  const below = (blocks: number) => {
    const number = head - BigInt(blocks) + 1n;
    return number < 0n ? null : number;
  };
  return { head, safe: below(Math.ceil(depth / 2)), finalized: below(depth) };
}

/** Null where the chain has no such tag. */
function tagged(answer: RpcAnswer | undefined): bigint | null {
  if (answer?.ok === false && meaningOf(answer.refusal) !== 'provider_fault') return null;
  return headerOf(resultOf(answer))?.number ?? null;
}
