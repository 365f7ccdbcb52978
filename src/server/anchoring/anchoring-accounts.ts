// Adds anchoring accounts to the public list.

import { SvcError } from '../../base/svc-error.ts';
import { accountText } from '../../protocol/anchoring-accounts.ts';
import type { AnchoringAccount } from '../ports/anchoring-accounts.ts';
import type { AnchoringContext } from './context.ts';

const RETIRED = 'account_retired';

/** The error for a key whose account was retired: clients refuse its later anchors. */
export function retiredError({
  address,
  lastBlock,
}: Pick<AnchoringAccount, 'address' | 'lastBlock'>): SvcError {
  return new SvcError(
    RETIRED,
    `The anchoring account ${address} was retired after block ${lastBlock}.`,
    { hint: 'Configure another key.' },
  );
}

/**
 * Adds the account to the list at its first use, with its key's signature of what never changes. Resolves with false if
 * the store fails: anchoring goes on, and the caller tries again. Throws `account_retired`: another instance may have
 * retired the account since the start.
 */
export async function listAccount(context: AnchoringContext, head: bigint): Promise<boolean> {
  const { store, key, lease, origin, logger } = context;
  const { chainId, sender: address } = lease;
  try {
    const accounts = await store.listAnchoringAccounts();
    const known = accounts.find((one) => one.chainId === chainId && one.address === address);
    if (known !== undefined && known.lastBlock !== null) throw retiredError(known);
    if (known !== undefined) return true;
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
    if (err instanceof SvcError && err.code === RETIRED) throw err;
    logger.warn({ err, sender: address }, 'failed to list anchoring account; retrying');
    return false;
  }
}
