// Lists the anchoring accounts, and signs the list with the configured keys.

import type { AnchorKey } from '../../chain/anchor-key.ts';
import { accountText, listText } from '../../protocol/anchoring-accounts.ts';
import { entriesOf } from '../rules/anchoring-accounts.ts';
import type { AnchorerDependencies, AnchoringContext } from './context.ts';
import { createTrigger } from './trigger.ts';

/**
 * Adds the account to the list at its first use, with its key's signature of what never changes, and signs the new list.
 * Resolves with false if the store fails: anchoring goes on, and the caller tries again.
 */
export async function listAccount(context: AnchoringContext, head: bigint): Promise<boolean> {
  const { store, key, lease, origin, logger } = context;
  const { chainId, sender: address } = lease;
  try {
    const { accounts } = await store.listAnchoringAccounts();
    if (accounts.some((one) => one.chainId === chainId && one.address === address)) return true;
    // A restored database may know anchors of the account that are older than its entry.
    const [oldest] = await store.listMinedFrom(lease, 0, 1);
    const firstBlock =
      oldest === undefined || oldest.blockNumber > head ? head : oldest.blockNumber;
    const entry = { chain_id: chainId, address, first_block: String(firstBlock) };
    const signature = await key?.signText(accountText(origin, entry));
    const statement = signature === undefined ? null : { origin, signature };
    await store.addAnchoringAccount({ chainId, address, firstBlock, statement });
    if (key !== null) await signList(context, [key]);
    return true;
  } catch (err) {
    logger.warn({ err, sender: address }, 'failed to list anchoring account; retrying');
    return false;
  }
}

/** Signs the list again after each change, also if another instance or `svc-server anchors retire` made it. */
export async function keepListSigned(
  deps: AnchorerDependencies,
  keys: readonly AnchorKey[],
  signal: AbortSignal,
): Promise<void> {
  const trigger = createTrigger();
  signal.addEventListener('abort', trigger.wake);
  while (!signal.aborted) {
    try {
      await signList(deps, keys);
    } catch (err) {
      deps.logger.warn({ err }, 'failed to sign the list of anchoring accounts; retrying');
    }
    await trigger.wait(deps.options.leaseTtlMs / 3);
  }
}

/** Signs the list with each of the keys that is in use and has not signed it yet. */
async function signList(
  { store, origin }: Pick<AnchorerDependencies, 'store' | 'origin'>,
  keys: readonly AnchorKey[],
): Promise<void> {
  const list = await store.listAnchoringAccounts();
  const { sequence } = list;
  for (const { chainId, address, lastBlock, listSignature } of list.accounts) {
    const key = keys.find((one) => one.address === address);
    const isSigned = listSignature?.sequence === sequence && listSignature.origin === origin;
    if (key === undefined || lastBlock !== null || isSigned) continue;
    const text = listText({ origin, sequence, accounts: entriesOf(list, origin) });
    const signature = await key.signText(text);
    await store.saveListSignature({ chainId, address }, { sequence, origin, signature });
  }
}
