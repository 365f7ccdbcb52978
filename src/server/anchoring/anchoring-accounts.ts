// Adds anchoring accounts to the public list.

import { accountText } from '../../protocol/anchoring-accounts.ts';
import type { AnchoringContext } from './context.ts';

/**
 * Adds the account to the list at its first use, with its key's signature of what never changes. Resolves with false if
 * the store fails: anchoring goes on, and the caller tries again.
 */
export async function listAccount(context: AnchoringContext, head: bigint): Promise<boolean> {
  const { store, key, lease, origin, logger } = context;
  const { chainId, sender: address } = lease;
  try {
    const accounts = await store.listAnchoringAccounts();
    if (accounts.some((one) => one.chainId === chainId && one.address === address)) return true;
    // A restored database may know anchors of the account that are older than its entry.
    const [oldest] = await store.listMinedFrom(lease, 0, 1);
    const firstBlock =
      oldest !== undefined && oldest.blockNumber < head ? oldest.blockNumber : head;
    const entry = { chain_id: chainId, address, first_block: String(firstBlock) };
    const signature = (await key?.signText(accountText(origin, entry))) ?? null;
    const signedFor = signature === null ? null : origin;
    await store.addAnchoringAccount({ chainId, address, firstBlock, signature, origin: signedFor });
    return true;
  } catch (err) {
    logger.warn({ err, sender: address }, 'failed to list anchoring account; retrying');
    return false;
  }
}
