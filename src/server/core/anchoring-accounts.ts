// The public list of the service's anchoring accounts.
import type { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import { publicList } from '../rules/anchoring-accounts.ts';
import type { Deps } from './deps.ts';

/** The list as the service states it now. Before an account is used, it is empty and unsigned. */
export async function getAnchorsList({ store, settings }: Deps): Promise<AnchorsList> {
  return publicList(await store.listAnchoringAccounts(), settings.baseUrl);
}
