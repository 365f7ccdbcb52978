// Identifies the chain by chain id and one block: the genesis block, or a finalized one where nodes lack block 0.
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';
import { headerOf, numberOf } from './decode.ts';
import { isRateLimit, ProviderError, UnidentifiedError } from './errors.ts';
import {
  type Ask,
  askInParts,
  blockCall,
  type Parts,
  type RpcAnswer,
  type RpcCall,
  resultOf,
} from './rpc.ts';

/** Chain id and the hash of one block, usually block 0: distinguishes two chains with the same id. */
export interface Identity {
  readonly chainId: number;
  readonly blockNumber: number;
  readonly blockHash: Hex;
}

/**
 * Identity calls, to be put first in a batch: the rest of the batch is then answered by the chain that they identify.
 */
export function identityCalls(blockNumber: number): readonly RpcCall[] {
  return [{ method: 'eth_chainId', params: [] }, blockCall(BigInt(blockNumber))];
}

/**
 * Reads the identity from the first answers of a batch that begins with `identityCalls`. Null if the node does not show
 * the block: it may have pruned it, or never had it.
 */
export function identityOf(
  [chainId, block]: readonly RpcAnswer[],
  blockNumber: number,
): Identity | null {
  const id = numberOf(resultOf(chainId), 'eth_chainId');
  if (block?.ok === false && !isRateLimit(block.refusal)) return null;
  const header = headerOf(resultOf(block));
  if (header?.number !== BigInt(blockNumber)) return null;
  return { chainId: id, blockNumber, blockHash: header.hash };
}

/** As `identityOf`, for a chain that is bound. Throws UnidentifiedError if the node does not show the block. */
export function identityOn(expected: Identity, answers: readonly RpcAnswer[]): Identity {
  const identity = identityOf(answers, expected.blockNumber);
  if (identity === null) throw new UnidentifiedError(expected.blockNumber);
  return identity;
}

/** Checks the identity, and returns the answers after it. Throws SvcError `chain_mismatch` if the chain is another. */
export function answersOn(expected: Identity, answers: readonly RpcAnswer[]): RpcAnswer[] {
  if (!isSameChain(identityOn(expected, answers), expected)) {
    throw new SvcError('chain_mismatch', 'The RPC URL belongs to another chain than expected.');
  }
  return answers.slice(identityCalls(expected.blockNumber).length);
}

/**
 * As `askInParts`, of the expected chain: each request also reads the identity, which one node then vouches for with all
 * that it answers. The answers to the identity are left out. Throws SvcError `chain_mismatch` if the chain is another.
 */
export async function askChain(
  ask: Ask,
  expected: Identity,
  { head, calls }: Parts,
  signal?: AbortSignal,
): Promise<RpcAnswer[][]> {
  const whole = { head: [...identityCalls(expected.blockNumber), ...head], calls };
  const parts = await askInParts(ask, whole, signal);
  return parts.map((answers) => answersOn(expected, answers));
}

export function isSameChain(a: Identity, b: Identity): boolean {
  return a.chainId === b.chainId && a.blockNumber === b.blockNumber && a.blockHash === b.blockHash;
}

/**
 * The chain of several URLs: `expected` as soon as one names it; without `expected` what `quorum` of them name, or the
 * only one named. Null if `expected` is, and too few name one because some do not show the block. Undefined while an
 * open answer can still matter. Throws ProviderError while a URL that does not answer may serve the expected chain.
 */
export function identityByQuorum(
  answers: readonly (Identity | null)[],
  terms: { expected: Identity | null; quorum: number; configured: number; open: number },
): Identity | null | undefined {
  const { expected, quorum, open } = terms;
  const named = answers.filter((one) => one !== null);
  const votes = (one: Identity) => named.filter((other) => isSameChain(one, other)).length;
  const agreed =
    expected === null
      ? named.find((one) => votes(one) >= quorum)
      : named.find((one) => isSameChain(one, expected));
  if (agreed !== undefined || open > 0) return agreed;
  if (named.length < answers.length) return null;
  if (expected !== null && named.length < terms.configured) {
    throw new ProviderError('no provider of the expected chain answers');
  }
  const [only] = named;
  if (expected === null && only !== undefined && votes(only) === named.length) return only;
  throw new SvcError(
    'chain_mismatch',
    expected === null
      ? 'The RPC URLs belong to different chains.'
      : 'The RPC URL belongs to another chain than expected.',
  );
}
