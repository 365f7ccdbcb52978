// Lists the accounts that held a lease, with their work in progress.

import type { OperationsStore, SenderKey } from '../../ports/operations.ts';
import { readOpenAttempts } from './anchor-attempts.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

const listSenders = sql(`SELECT chain_id, address, greatest(
    (SELECT max(nonce) FROM attempts a WHERE a.chain_id = l.chain_id AND a.sender = l.address),
    (SELECT max(nonce) FROM foreign_nonces f WHERE f.chain_id = l.chain_id AND f.sender = l.address)
  ) + 1 AS next_nonce
  FROM leases l ORDER BY chain_id, address`);

interface SenderRow {
  chain_id: number;
  address: string;
  next_nonce: number | null;
}

export function senderStore(access: Access): Pick<OperationsStore, 'listSenders'> {
  return {
    listSenders: () =>
      access.read(async (tx) => {
        const rows = await tx.rows<SenderRow>(listSenders);
        const senders = rows.map(({ chain_id: chainId, address, next_nonce: nextNonce }) => ({
          chainId,
          address,
          nextNonce,
        }));
        const open = await readOpenAttempts(tx, senders);
        return senders.map((sender) => ({
          ...sender,
          openAttempts: open.filter((one) => isSame(one, sender)).map(({ attempt }) => attempt),
        }));
      }),
  };
}

function isSame(one: SenderKey, other: SenderKey): boolean {
  return one.chainId === other.chainId && one.address === other.address;
}
