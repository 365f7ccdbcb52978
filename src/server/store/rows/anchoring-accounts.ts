// SQL of anchoring accounts that both databases run, and their rows.

import type { AnchoringAccount } from '../../ports/anchoring-accounts.ts';

export interface AnchoringAccountRow
  extends Omit<AnchoringAccount, 'firstBlock' | 'lastBlock' | 'endsElsewhere'> {
  firstBlock: number;
  lastBlock: number | null;
  endsElsewhere: number | boolean;
}

export const SELECT_ACCOUNTS = `SELECT chain_id AS "chainId", address, first_block AS "firstBlock",
    last_block AS "lastBlock", changed_in AS "changedIn", origin, signature,
    coalesce((SELECT max(nonce) FROM foreign_nonces f
        WHERE f.chain_id = anchoring_accounts.chain_id AND f.sender = anchoring_accounts.address), -1)
      > coalesce((SELECT nonce FROM attempts a
        WHERE a.chain_id = anchoring_accounts.chain_id AND a.sender = anchoring_accounts.address AND state = 'finalized'
        ORDER BY nonce DESC LIMIT 1), -1) AS "endsElsewhere"
  FROM anchoring_accounts ORDER BY first_block, chain_id, address`;

/** The sequence number of the next list. */
export const NEXT_LIST = '(SELECT coalesce(max(changed_in), 0) + 1 FROM anchoring_accounts)';

/** Add a condition for the account. `greater` is the database's function; `atLeast` is the placeholder of a block. */
export function retireSql(greater: 'max' | 'greatest', atLeast: string): string {
  return `UPDATE anchoring_accounts AS l SET changed_in = ${NEXT_LIST},
    last_block = ${greater}(${atLeast}, coalesce((SELECT mined_block_number FROM attempts a
      WHERE a.chain_id = l.chain_id AND a.sender = l.address AND state = 'finalized'
      ORDER BY nonce DESC LIMIT 1), first_block))
  WHERE last_block IS NULL`;
}

export function toAccount({
  firstBlock,
  lastBlock,
  endsElsewhere,
  ...row
}: AnchoringAccountRow): AnchoringAccount {
  const last = lastBlock === null ? null : BigInt(lastBlock);
  const others = { firstBlock: BigInt(firstBlock), lastBlock: last };
  return { ...row, ...others, endsElsewhere: Boolean(endsElsewhere) };
}
