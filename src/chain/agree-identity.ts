import { SvcError } from '../base/svc-error.ts';
import { ProviderFault } from './errors.ts';
import { type Identity, isSameChain } from './identity.ts';

/**
 * The chain that several URLs are of: `expected` as soon as one names it, else what `quorum` of them
 * name, or the only one that is named. Undefined while an answer still to come can matter; throws
 * ProviderFault while a URL that does not answer may be of the expected chain.
 *
 * @throws SvcError `chain_mismatch`.
 */
export function agreeOnIdentity(
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
    throw new ProviderFault('no provider of the expected chain answers');
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
