// Stores the list of anchoring accounts.

import type { AnchoringAccountStore, NewAnchoringAccount } from '../../ports/anchoring-accounts.ts';
import {
  type AnchoringAccountRow,
  NEXT_LIST,
  retireSql,
  SELECT_ACCOUNTS,
  toAccount,
} from '../rows/anchoring-accounts.ts';
import type { Access } from './engine/connections.ts';
import type { LeasedAccess } from './leases.ts';

export function anchoringAccountStore(
  { reader, writer, write, read }: Access,
  leased: LeasedAccess,
): AnchoringAccountStore {
  const all = reader.prepare<[], AnchoringAccountRow>(SELECT_ACCOUNTS);
  const add = writer.prepare<NewAnchoringAccount>(
    `INSERT INTO anchoring_accounts (chain_id, address, first_block, changed_in, origin, signature)
     VALUES (:chainId, :address, :firstBlock, ${NEXT_LIST}, :origin, :signature)
     ON CONFLICT (chain_id, address) DO NOTHING`,
  );
  const retire = writer.prepare<[bigint, number, string]>(
    `${retireSql('max', '?')} AND chain_id = ? AND address = ?`,
  );
  return {
    listAnchoringAccounts: () => read(() => all.all().map(toAccount)),

    addAnchoringAccount: (account) =>
      write(() => {
        add.run(account);
      }),

    retireAnchoringAccount: (lease, atLeast = 0n) =>
      leased.write(lease, () => {
        retire.run(atLeast, lease.chainId, lease.sender);
      }),
  };
}
