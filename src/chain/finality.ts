// The finality of blocks, by the tags `safe` and `finalized` or by depth.
import { headerOf, quantityOf } from './decode.ts';
import { meaningOf } from './errors.ts';
import { type RpcAnswer, type RpcCall, resultOf } from './rpc.ts';
import { lesser } from './sender-state.ts';

export type Finality = 'included' | 'safe' | 'finalized';

/** Block numbers; null if nothing is safe or finalized yet. */
export interface Heads {
  readonly head: bigint;
  readonly safe: bigint | null;
  readonly finalized: bigint | null;
}

/** How finality is determined, and what the chain's tags have shown so far. All URLs of a chain share one rule. */
export interface FinalityRule {
  /** Blocks until finality, counting the including one; null uses the chain's tags. */
  readonly depth: number | null;
  /** Whether any URL has ever shown a finalized block. */
  hasTags: boolean;
  /** The head at which the finalized block was first found missing. */
  missingSince: bigint | null;
}

/** Blocks until finality if neither the configuration nor the chain defines it: two epochs of Ethereum. */
const DEPTH_WITHOUT_TAGS = 64;

export function finalityRule(depth: number | null): FinalityRule {
  return { depth, hasTags: false, missingSince: null };
}

export function headCalls({ depth }: FinalityRule): RpcCall[] {
  const head = { method: 'eth_blockNumber', params: [] };
  if (depth !== null) return [head];
  return [
    head,
    { method: 'eth_getBlockByNumber', params: ['safe', false] },
    { method: 'eth_getBlockByNumber', params: ['finalized', false] },
  ];
}

/**
 * Reads the answers to `headCalls`. A depth of 64 blocks applies if a node refuses the tag, or if the tag had no block
 * over 64 blocks. Once a finalized block was seen, a missing one means that nothing is final now.
 */
export function headsOf(answers: readonly RpcAnswer[], rule: FinalityRule): Heads {
  const head = quantityOf(resultOf(answers[0]));
  if (rule.depth !== null) return byDepth(head, rule.depth);
  const [safe, finalized] = [tagged(answers[1]), tagged(answers[2])];
  if (typeof finalized === 'bigint') {
    rule.hasTags = true;
    const isSafer = typeof safe === 'bigint' && safe > finalized;
    return { head, safe: isSafer ? safe : finalized, finalized };
  }
  if (!rule.hasTags) {
    rule.missingSince = lesser(rule.missingSince ?? head, head);
    const isMissed = head - rule.missingSince >= DEPTH_WITHOUT_TAGS;
    if (finalized === 'refused' || isMissed) return byDepth(head, DEPTH_WITHOUT_TAGS);
  }
  return { head, safe: typeof safe === 'bigint' ? safe : null, finalized: null };
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

/** The refusal texts of a node that knows the tag but has no block for it now. */
const noBlock = /not found|unknown block(?! tag)/i;

/** The block number of a tag; null if the tag has no block, `refused` if the node does not know the tag. */
function tagged(answer: RpcAnswer | undefined): bigint | 'refused' | null {
  if (answer?.ok === false && meaningOf(answer.refusal) !== 'provider_error') {
    return noBlock.test(answer.refusal.reason) ? null : 'refused';
  }
  return headerOf(resultOf(answer))?.number ?? null;
}
