// SQL of anchoring accounts that both databases run, and their rows.

import type { AnchoringAccount } from '../../ports/anchoring-accounts.ts';

export interface AnchoringAccountRow extends Omit<AnchoringAccount, 'firstBlock' | 'lastBlock'> {
  firstBlock: number;
  lastBlock: number | null;
}

export const SELECT_ACCOUNTS = `SELECT chain_id AS "chainId", address, first_block AS "firstBlock",
    last_block AS "lastBlock", changed_in AS "changedIn", origin, signature
  FROM anchoring_accounts ORDER BY first_block, chain_id, address`;

/** The sequence number of the next list. */
export const NEXT_LIST = '(SELECT coalesce(max(changed_in), 0) + 1 FROM anchoring_accounts)';

/** Add a condition for the account. */
export const RETIRE = `UPDATE anchoring_accounts AS l SET changed_in = ${NEXT_LIST},
    last_block = coalesce((SELECT mined_block_number FROM attempts a
      WHERE a.chain_id = l.chain_id AND a.sender = l.address AND state = 'finalized'
      ORDER BY nonce DESC LIMIT 1), first_block)
  WHERE last_block IS NULL`;

export function toAccount({
  firstBlock,
  lastBlock,
  ...row
}: AnchoringAccountRow): AnchoringAccount {
  const last = lastBlock === null ? null : BigInt(lastBlock);
  return { ...row, firstBlock: BigInt(firstBlock), lastBlock: last };
}
