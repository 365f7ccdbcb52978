import { SvcError } from '../../base/svc-error.ts';
import type { AnchorKey } from '../../chain/anchor-key.ts';
import type { AnchorChain } from '../../chain/chain.ts';
import type { ChainIdentity } from '../core/anchor-store.ts';
import { dearestSingle } from './batch.ts';

/**
 * An account with code, a delegated one too (EIP-7702), can make its anchors fail or send transactions of its own.
 * Rejects with SvcError `sender_has_code`, or as `survey` does.
 */
export async function refuseCode(
  on: { chain: AnchorChain; identity: ChainIdentity; keys: readonly AnchorKey[] },
  signal: AbortSignal,
): Promise<void> {
  const { chain, identity, keys } = on;
  await Promise.all(
    keys.map(async ({ address }) => {
      const subject = { identity, sender: address, payload: dearestSingle };
      const { hasCode } = await chain.survey(subject, signal);
      if (!hasCode) return;
      throw new SvcError('sender_has_code', `The anchoring account ${address} has code.`, {
        hint: 'Anchor with a plain account, and do not delegate it (EIP-7702).',
      });
    }),
  );
}
