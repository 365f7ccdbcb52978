// Decides what the public list of anchoring accounts states.

import type { AnchorsList, ListedAccount } from '../../protocol/anchoring-accounts.ts';
import type { AccountList } from '../ports/anchoring-accounts.ts';

/** The entries. A signature for another origin does not count here, so the origin alone states that account. */
export function entriesOf({ accounts }: AccountList, origin: string): ListedAccount[] {
  return accounts.map(({ chainId, address, firstBlock, lastBlock, statement }) => ({
    chain_id: chainId,
    address,
    first_block: String(firstBlock),
    last_block: lastBlock === null ? null : String(lastBlock),
    signature: statement?.origin === origin ? statement.signature : null,
  }));
}

/** The list with the signatures of accounts in use that cover exactly this list. */
export function publicList(list: AccountList, origin: string): AnchorsList {
  const { sequence, accounts } = list;
  return {
    format: 'svc-anchors/1',
    origin,
    sequence,
    accounts: entriesOf(list, origin),
    signatures: accounts.flatMap(({ address, lastBlock, listSignature: signed }) =>
      lastBlock === null && signed?.sequence === sequence && signed.origin === origin
        ? [{ address, signature: signed.signature }]
        : [],
    ),
  };
}
