// The public list of the service's anchoring accounts.
import { type AnchorsList, listText } from '../../protocol/anchoring-accounts.ts';
import type { Deps } from './deps.ts';

/**
 * Reads the list as the service states it now, signed by each configured account in it that is in use. A list is signed
 * once per process. Before an account was used, it is empty.
 */
export function createListReader({ store, settings, keys }: Deps): () => Promise<AnchorsList> {
  let signed: { text: string; signatures: Promise<AnchorsList['signatures']> } | null = null;
  return async () => {
    const origin = settings.baseUrl;
    const accounts = await store.listAnchoringAccounts();
    const list = {
      format: 'svc-anchors/1' as const,
      origin,
      sequence: Math.max(0, ...accounts.map(({ changedIn }) => changedIn)),
      accounts: accounts.map((account) => ({
        chain_id: account.chainId,
        address: account.address,
        first_block: String(account.firstBlock),
        last_block: account.lastBlock === null ? null : String(account.lastBlock),
        // A signature for another origin does not count here: the origin alone states that account.
        signature: account.origin === origin ? account.signature : null,
      })),
    };
    const text = listText(list);
    if (signed?.text !== text) {
      const signers = keys.filter((key) => {
        const entries = accounts.filter(({ address }) => address === key.address);
        return entries.length > 0 && entries.every(({ lastBlock }) => lastBlock === null);
      });
      const signatures = Promise.all(
        signers.map(async ({ address, signText }) => ({
          address,
          signature: await signText(text),
        })),
      );
      signed = { text, signatures };
    }
    return { ...list, signatures: await signed.signatures };
  };
}
