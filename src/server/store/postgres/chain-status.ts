// Stores the chain's identity, the newest fee quote and the reasons for degraded anchoring.

import type { AnchorStore, ChainIdentity } from '../../ports/anchoring.ts';
import {
  QUOTE_COLUMNS,
  type QuoteRow,
  READ_IDENTITY,
  requireSameChain,
  toQuote,
} from '../rows/anchoring.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';
import { IS_OWNED, leaseLost, ownership } from './leases.ts';

interface StatusRow extends QuoteRow {
  degraded: string;
  updated_at: number;
  sender_degraded: string | null;
  sender_parked: number | null;
}

const bind = sql('INSERT INTO chain_identity VALUES (1, $1, $2) ON CONFLICT DO NOTHING');
const readIdentity = sql(READ_IDENTITY);
const save = sql(`WITH sender AS (
    UPDATE leases SET degraded = $6, parked = $7 WHERE ${IS_OWNED} RETURNING true
  )
  INSERT INTO chain_status AS s (id, single_gas, base_fee_per_gas, max_priority_fee_per_gas, data_fee_wei,
    degraded, updated_at)
  SELECT 1, $8::numeric, $9::numeric, $10::numeric, $11::numeric, '[]', $12::bigint FROM sender
  ON CONFLICT (id) DO UPDATE SET
    single_gas = coalesce(excluded.single_gas, s.single_gas),
    base_fee_per_gas = coalesce(excluded.base_fee_per_gas, s.base_fee_per_gas),
    max_priority_fee_per_gas =
      coalesce(excluded.max_priority_fee_per_gas, s.max_priority_fee_per_gas),
    data_fee_wei = coalesce(excluded.data_fee_wei, s.data_fee_wei),
    updated_at = excluded.updated_at`);
const status = sql(`SELECT ${QUOTE_COLUMNS}, s.degraded, s.updated_at,
    l.degraded AS sender_degraded, l.parked AS sender_parked
  FROM chain_status s
  LEFT JOIN leases l ON l.holder IS NOT NULL AND l.expires_at > instant_or($1)`);

export function chainStatusStore(
  access: Access,
): Pick<AnchorStore, 'bindChain' | 'getChainIdentity' | 'saveChainStatus' | 'getChainStatus'> {
  const identity = () => access.first<ChainIdentity>(readIdentity);

  return {
    async bindChain(given) {
      const known = await identity();
      if (known === undefined) await access.run(bind, [given.chainId, given.genesisHash]);
      requireSameChain(known ?? (await identity()), given);
    },

    getChainIdentity: async () => (await identity()) ?? null,

    async saveChainStatus(lease, { quote, degraded, parked, now }) {
      const saved = await access.run(save, [
        ...ownership(access, lease),
        JSON.stringify(degraded),
        parked,
        quote?.singleGas ?? null,
        quote?.baseFeePerGas ?? null,
        quote?.maxPriorityFeePerGas ?? null,
        quote?.dataFeeWei ?? null,
        now,
      ]);
      if (saved === 0) throw leaseLost();
    },

    async getChainStatus() {
      const rows = await access.rows<StatusRow>(status, [access.instant()]);
      const [row] = rows;
      if (row === undefined) return null;
      const reasons = [row.degraded, ...rows.map((sender) => sender.sender_degraded ?? '[]')];
      return {
        quote: toQuote(row),
        degraded: [...new Set(reasons.flatMap((text): string[] => JSON.parse(text)))].sort(),
        parked: rows.reduce((sum, sender) => sum + (sender.sender_parked ?? 0), 0),
        updatedAt: row.updated_at,
      };
    },
  };
}
