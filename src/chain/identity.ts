// Identifies the chain by chain id and genesis hash.
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';
import { hashOf, headerAt, malformed, numberOf } from './decode.ts';
import { ProviderError } from './errors.ts';
import { type RpcAnswer, type RpcCall, resultOf } from './rpc.ts';

/** Chain id and genesis hash: distinguishes two chains with the same id. */
export interface Identity {
  readonly chainId: number;
  readonly genesisHash: Hex;
}

/**
 * Identity calls, to be put first in a batch: the rest of the batch is then answered by the chain that they identify.
 */
export const identityCalls: readonly RpcCall[] = [
  { method: 'eth_chainId', params: [] },
  { method: 'eth_getBlockByNumber', params: ['0x0', false] },
];

/** Reads the identity from the first answers of a batch that begins with `identityCalls`. */
export function identityOf([chainId, genesis]: readonly RpcAnswer[]): Identity {
  const header = headerAt(0n, resultOf(genesis));
  if (header === null) throw malformed();
  return { chainId: numberOf(resultOf(chainId), 'eth_chainId'), genesisHash: hashOf(header.hash) };
}

/** Checks the identity, and returns the answers after it. Throws SvcError `chain_mismatch` if the chain is another. */
export function answersOn(expected: Identity, answers: readonly RpcAnswer[]): RpcAnswer[] {
  if (!isSameChain(identityOf(answers), expected)) {
    throw new SvcError('chain_mismatch', 'The RPC URL belongs to another chain than expected.');
  }
  return answers.slice(identityCalls.length);
}

export function isSameChain(a: Identity, b: Identity): boolean {
  return a.chainId === b.chainId && a.genesisHash === b.genesisHash;
}

/**
 * The chain of several URLs: `expected` as soon as one names it; without `expected` what `quorum` of them name, or the
 * only one named. Undefined while an open answer can still matter. Throws ProviderError while a URL that does not
 * answer may serve the expected chain.
 */
export function identityByQuorum(
  named: readonly Identity[],
  terms: { expected: Identity | null; quorum: number; configured: number; open: number },
): Identity | undefined {
  const { expected, quorum, open } = terms;
  const votes = (one: Identity) => named.filter((other) => isSameChain(one, other)).length;
  const agreed =
    expected === null
      ? named.find((one) => votes(one) >= quorum)
      : named.find((one) => isSameChain(one, expected));
  if (agreed !== undefined || open > 0) return agreed;
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
