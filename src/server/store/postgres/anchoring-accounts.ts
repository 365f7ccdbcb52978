// Stores the list of anchoring accounts.

import type { AnchoringAccountStore, Retirement } from '../../ports/anchoring-accounts.ts';
import {
  ACCOUNT_COLUMNS,
  type AnchoringAccountRow,
  toAccountList,
} from '../rows/anchoring-accounts.ts';
import { IS_OPEN } from './anchor-attempts.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';
import { takeLeases } from './leases.ts';

const all = sql(
  `SELECT ${ACCOUNT_COLUMNS} FROM anchoring_accounts ORDER BY first_block, chain_id, address`,
);
// Two changes at the same time would get the same sequence number.
const lockList = sql('LOCK TABLE anchoring_accounts IN SHARE ROW EXCLUSIVE MODE');
const NEXT = '(SELECT coalesce(max(changed_in), 0) + 1 FROM anchoring_accounts)';
const add =
  sql(`INSERT INTO anchoring_accounts (chain_id, address, first_block, changed_in, origin, signature)
  VALUES ($1, $2, $3, ${NEXT}, $4, $5) ON CONFLICT (chain_id, address) DO NOTHING`);
const sign =
  sql(`UPDATE anchoring_accounts SET list_sequence = $3, list_origin = $4, list_signature = $5
  WHERE chain_id = $1 AND address = $2`);
const find = sql(`SELECT first_block, last_block,
    EXISTS (SELECT FROM leases l WHERE l.chain_id = $1 AND l.address = $2
      AND holder IS NOT NULL AND expires_at > instant_or($3)) AS leased,
    EXISTS (SELECT FROM attempts WHERE chain_id = $1 AND sender = $2 AND ${IS_OPEN})
      OR EXISTS (SELECT FROM attempts
        WHERE chain_id = $1 AND sender = $2 AND state = 'included') AS not_final,
    (SELECT mined_block_number FROM attempts
      WHERE chain_id = $1 AND sender = $2 AND state = 'finalized'
      ORDER BY nonce DESC LIMIT 1) AS last_mined
  FROM anchoring_accounts WHERE chain_id = $1 AND address = $2`);
const retire = sql(`UPDATE anchoring_accounts SET last_block = $3, changed_in = ${NEXT}
  WHERE chain_id = $1 AND address = $2`);

interface FoundRow {
  first_block: number;
  last_block: number | null;
  leased: boolean;
  not_final: boolean;
  last_mined: number | null;
}

export function anchoringAccountStore(access: Access): AnchoringAccountStore {
  return {
    listAnchoringAccounts: async () => toAccountList(await access.rows<AnchoringAccountRow>(all)),

    addAnchoringAccount: ({ chainId, address, firstBlock, statement }) =>
      access.write(async (tx) => {
        await tx.run(lockList);
        const { origin = null, signature = null } = statement ?? {};
        await tx.run(add, [chainId, address, firstBlock, origin, signature]);
      }),

    async saveListSignature({ chainId, address }, { sequence, origin, signature }) {
      await access.run(sign, [chainId, address, sequence, origin, signature]);
    },

    retireAnchoringAccount: ({ chainId, address }) =>
      access.write(async (tx): Promise<Retirement> => {
        await tx.run(takeLeases);
        await tx.run(lockList);
        const row = await tx.first<FoundRow>(find, [chainId, address, access.instant()]);
        if (row === undefined) return { outcome: 'unknown' };
        if (row.last_block !== null) {
          return { outcome: 'retired', lastBlock: BigInt(row.last_block) };
        }
        if (row.leased) return { outcome: 'in_use' };
        if (row.not_final) return { outcome: 'not_final' };
        const lastBlock = row.last_mined ?? row.first_block;
        await tx.run(retire, [chainId, address, lastBlock]);
        return { outcome: 'retired', lastBlock: BigInt(lastBlock) };
      }),
  };
}
