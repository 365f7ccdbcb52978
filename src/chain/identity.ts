// Identifies the chain by chain id and genesis hash.
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';
import { hashOf, headerAt, malformed, numberOf } from './decode.ts';
import { ProviderError } from './errors.ts';
import { type RpcAnswer, type RpcCall, resultOf } from './rpc.ts';

/** Tells two chains of one id apart. */
export interface Identity {
  readonly chainId: number;
  readonly genesisHash: Hex;
}

/** To stand first in a batch: what else the batch answers is then of the chain that is named here. */
export const identityCalls: readonly RpcCall[] = [
  { method: 'eth_chainId', params: [] },
  { method: 'eth_getBlockByNumber', params: ['0x0', false] },
];

/** Reads the first answers of a batch that begins with `identityCalls`. */
export function identityOf([chainId, genesis]: readonly RpcAnswer[]): Identity {
  const header = headerAt(0n, resultOf(genesis));
  if (header === null) throw malformed();
  return { chainId: numberOf(resultOf(chainId)), genesisHash: hashOf(header.hash) };
}

/** The answers behind the identity; throws SvcError `chain_mismatch` when they are of another chain. */
export function answersOn(expected: Identity, answers: readonly RpcAnswer[]): RpcAnswer[] {
  if (!isSameChain(identityOf(answers), expected)) {
    throw new SvcError('chain_mismatch', 'Another chain answers behind the RPC URL');
  }
  return answers.slice(identityCalls.length);
}

export function isSameChain(a: Identity, b: Identity): boolean {
  return a.chainId === b.chainId && a.genesisHash === b.genesisHash;
}

/**
 * The chain that several URLs are of: `expected` as soon as one names it, else what `quorum` of them
 * name, or the only one that is named. Undefined while an answer still to come can matter; throws
 * ProviderFault while a URL that does not answer may be of the expected chain.
 *
 * @throws SvcError `chain_mismatch`.
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
      ? 'The RPC URLs are of different chains'
      : 'Another chain answers behind the RPC URL',
  );
}
