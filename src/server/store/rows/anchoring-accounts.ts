// Converts rows of anchoring accounts.

import type { Hex } from '../../../proof/bytes.ts';
import type { AccountList, OriginSignature } from '../../ports/anchoring-accounts.ts';

export interface AnchoringAccountRow {
  chain_id: number;
  address: string;
  first_block: number;
  last_block: number | null;
  changed_in: number;
  origin: string | null;
  signature: Hex | null;
  list_sequence: number | null;
  list_origin: string | null;
  list_signature: Hex | null;
}

export const ACCOUNT_COLUMNS = `chain_id, address, first_block, last_block, changed_in, origin, signature, list_sequence,
  list_origin, list_signature`;

export function toAccountList(rows: readonly AnchoringAccountRow[]): AccountList {
  return {
    sequence: Math.max(0, ...rows.map(({ changed_in }) => changed_in)),
    accounts: rows.map((row) => {
      const list = toSignature(row.list_origin, row.list_signature);
      const sequence = row.list_sequence ?? 0;
      return {
        chainId: row.chain_id,
        address: row.address,
        firstBlock: BigInt(row.first_block),
        lastBlock: row.last_block === null ? null : BigInt(row.last_block),
        statement: toSignature(row.origin, row.signature),
        listSignature: list === null ? null : { ...list, sequence },
      };
    }),
  };
}

function toSignature(origin: string | null, signature: Hex | null): OriginSignature | null {
  return origin === null || signature === null ? null : { origin, signature };
}
