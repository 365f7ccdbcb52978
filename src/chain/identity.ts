import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';
import { hashOf, headerAt, malformed, numberOf } from './decode.ts';
import { type RpcCall, resultOf } from './rpc.ts';
import type { RpcAnswer } from './rpc-answers.ts';

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
