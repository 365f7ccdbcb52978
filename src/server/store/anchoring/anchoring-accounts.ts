// Stores the list of anchoring accounts.

import type { AnchoringAccount, AnchoringAccountStore } from '../../ports/anchoring-accounts.ts';
import { first, mutex, rows, type StepRunner } from '../engine/steps.ts';

/** The sequence number of the next list. Two changes at the same time would get the same one, without the mutex. */
const NEXT_LIST = '(SELECT coalesce(max(changed_in), 0) + 1 FROM anchoring_accounts)';
const MUTEX = 'anchoring accounts';

interface AccountRow extends Omit<AnchoringAccount, 'firstBlock' | 'lastBlock' | 'endsElsewhere'> {
  firstBlock: number;
  lastBlock: number | null;
  endsElsewhere: number | boolean;
}

export const anchoringAccountSql = {
  list: `SELECT chain_id AS "chainId", address, first_block AS "firstBlock",
      last_block AS "lastBlock", changed_in AS "changedIn", origin, signature,
      coalesce((SELECT max(nonce) FROM foreign_nonces f
          WHERE f.chain_id = anchoring_accounts.chain_id AND f.sender = anchoring_accounts.address), -1)
        > coalesce((SELECT nonce FROM attempts a
          WHERE a.chain_id = anchoring_accounts.chain_id AND a.sender = anchoring_accounts.address AND state = 'finalized'
          ORDER BY nonce DESC LIMIT 1), -1) AS "endsElsewhere"
    FROM anchoring_accounts ORDER BY first_block, chain_id, address`,
  add: `INSERT INTO anchoring_accounts (chain_id, address, first_block, changed_in, origin, signature)
    VALUES ($1, $2, $3, ${NEXT_LIST}, $4, $5) ON CONFLICT (chain_id, address) DO NOTHING`,
  newest: `SELECT coalesce((SELECT mined_block_number FROM attempts a
      WHERE a.chain_id = l.chain_id AND a.sender = l.address AND state = 'finalized'
      ORDER BY nonce DESC LIMIT 1), first_block) AS block
    FROM anchoring_accounts l WHERE chain_id = $1 AND address = $2 AND last_block IS NULL`,
  retire: `UPDATE anchoring_accounts SET changed_in = ${NEXT_LIST}, last_block = $3
    WHERE chain_id = $1 AND address = $2`,
} as const;

export function anchoringAccountStore({ read, write, leased }: StepRunner): AnchoringAccountStore {
  return {
    listAnchoringAccounts: async () =>
      (await read(() => rows<AccountRow>(anchoringAccountSql.list))).map(toAccount),

    addAnchoringAccount: ({ chainId, address, firstBlock, origin, signature }) =>
      write(function* () {
        yield* mutex(MUTEX);
        const values = [chainId, address, Number(firstBlock), origin, signature];
        yield* rows(anchoringAccountSql.add, ...values);
      }),

    retireAnchoringAccount: (lease, atLeast = 0n) =>
      leased.write(lease, function* () {
        yield* mutex(MUTEX);
        const key = [lease.chainId, lease.sender];
        const newest = yield* first<{ block: number }>(anchoringAccountSql.newest, ...key);
        if (newest === undefined) return;
        const last = Math.max(newest.block, Number(atLeast));
        yield* rows(anchoringAccountSql.retire, ...key, last);
      }),
  };
}

function toAccount({ firstBlock, lastBlock, endsElsewhere, ...row }: AccountRow): AnchoringAccount {
  const last = lastBlock === null ? null : BigInt(lastBlock);
  const others = { firstBlock: BigInt(firstBlock), lastBlock: last };
  return { ...row, ...others, endsElsewhere: Boolean(endsElsewhere) };
}
