// Stores the list of anchoring accounts.

import type { AnchoringAccountStore } from '../../ports/anchoring-accounts.ts';
import {
  type AnchoringAccountRow,
  NEXT_LIST,
  retireSql,
  SELECT_ACCOUNTS,
  toAccount,
} from '../rows/anchoring-accounts.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';
import { leasedAccess } from './leases.ts';

const all = sql(SELECT_ACCOUNTS);
// Two changes at the same time would get the same sequence number.
const lockList = sql('LOCK TABLE anchoring_accounts IN SHARE ROW EXCLUSIVE MODE');
const add = sql(`INSERT INTO anchoring_accounts
    (chain_id, address, first_block, changed_in, origin, signature)
  VALUES ($1, $2, $3, ${NEXT_LIST}, $4, $5) ON CONFLICT (chain_id, address) DO NOTHING`);
const retire = sql(`${retireSql('greatest', '$3::bigint')} AND chain_id = $1 AND address = $2`);

export function anchoringAccountStore(access: Access): AnchoringAccountStore {
  const leased = leasedAccess(access);
  return {
    listAnchoringAccounts: async () => (await access.rows<AnchoringAccountRow>(all)).map(toAccount),

    addAnchoringAccount: ({ chainId, address, firstBlock, origin, signature }) =>
      access.write(async (tx) => {
        await tx.run(lockList);
        await tx.run(add, [chainId, address, firstBlock, origin, signature]);
      }),

    retireAnchoringAccount: (lease, atLeast = 0n) =>
      leased.write(lease, async (tx) => {
        await tx.run(lockList);
        await tx.run(retire, [lease.chainId, lease.sender, atLeast]);
      }),
  };
}
