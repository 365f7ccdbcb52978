// Stores the chain's identity, the newest fee quote and the reasons for degraded anchoring.

import type { Database } from 'better-sqlite3';
import type { AnchorStore, ChainIdentity, FeeQuote } from '../../ports/anchoring.ts';
import {
  QUOTE_COLUMNS,
  type QuoteRow,
  READ_IDENTITY,
  requireSameChain,
  toQuote,
} from '../rows/anchoring.ts';
import type { Access } from './engine/connections.ts';
import type { LeasedAccess } from './leases.ts';

type StatusRow = QuoteRow & { degraded: string; updated_at: number };

export function chainStatusStore(
  { reader, writer, write, read }: Access,
  leased: LeasedAccess,
): Pick<AnchorStore, 'bindChain' | 'getChainIdentity' | 'saveChainStatus' | 'getChainStatus'> {
  const identity = reader.prepare<[], ChainIdentity>(READ_IDENTITY);
  const bound = writer.prepare<[], ChainIdentity>(READ_IDENTITY);
  const bind = writer.prepare<[number, string]>('INSERT INTO chain_identity VALUES (1, ?, ?)');
  const save = writer.prepare<[Record<string, string | number | null>]>(
    `INSERT INTO chain_status (id, single_gas, base_fee_per_gas, max_priority_fee_per_gas, data_fee_wei,
       degraded, updated_at)
     VALUES (1, :singleGas, :baseFeePerGas, :maxPriorityFeePerGas, :dataFeeWei, '[]', :now)
     ON CONFLICT (id) DO UPDATE SET
       single_gas = coalesce(excluded.single_gas, single_gas),
       base_fee_per_gas = coalesce(excluded.base_fee_per_gas, base_fee_per_gas),
       max_priority_fee_per_gas =
         coalesce(excluded.max_priority_fee_per_gas, max_priority_fee_per_gas),
       data_fee_wei = coalesce(excluded.data_fee_wei, data_fee_wei),
       updated_at = excluded.updated_at`,
  );
  const saveReasons = writer.prepare<[string, number, number, string]>(
    'UPDATE leases SET degraded = ?, parked = ? WHERE chain_id = ? AND address = ?',
  );
  const status = reader.prepare<[], StatusRow>(
    `SELECT ${QUOTE_COLUMNS}, degraded, updated_at FROM chain_status`,
  );
  const senders = reader.prepare<[], { degraded: string; parked: number }>(
    'SELECT degraded, parked FROM leases WHERE holder IS NOT NULL',
  );

  return {
    bindChain: (given) =>
      write(() => {
        const known = bound.get();
        if (known === undefined) bind.run(given.chainId, given.genesisHash);
        else requireSameChain(known, given);
      }),

    getChainIdentity: () => read(() => identity.get() ?? null),

    saveChainStatus: (lease, { quote, degraded, parked, now }) =>
      leased.write(lease, () => {
        save.run({
          singleGas: quote?.singleGas.toString() ?? null,
          baseFeePerGas: quote?.baseFeePerGas.toString() ?? null,
          maxPriorityFeePerGas: quote?.maxPriorityFeePerGas.toString() ?? null,
          dataFeeWei: quote?.dataFeeWei.toString() ?? null,
          now,
        });
        saveReasons.run(JSON.stringify(degraded), parked, lease.chainId, lease.sender);
      }),

    getChainStatus: () =>
      read(() => {
        const row = status.get();
        if (row === undefined) return null;
        const held = senders.all();
        const reasons = [row, ...held].flatMap(({ degraded }): string[] => JSON.parse(degraded));
        return {
          quote: toQuote(row),
          degraded: [...new Set(reasons)].sort(),
          parked: held.reduce((sum, { parked }) => sum + parked, 0),
          updatedAt: row.updated_at,
        };
      }),
  };
}

/** Reads the newest fee quote on the given connection. */
export function feeQuoteReader(db: Database): () => FeeQuote | null {
  const quote = db.prepare<[], QuoteRow>(`SELECT ${QUOTE_COLUMNS} FROM chain_status`);
  return () => {
    const row = quote.get();
    return row === undefined ? null : toQuote(row);
  };
}
