// Stores the chain's identity, the newest fee quote and the reasons for degraded anchoring.

import type { AnchorStore, ChainIdentity, Funds } from '../../ports/anchoring.ts';
import { isAnchoringStopped } from '../../rules/anchoring.ts';
import { first, rows, type StepRunner } from '../engine/steps.ts';
import {
  QUOTE_COLUMNS,
  type QuoteRow,
  READ_IDENTITY,
  requireSameChain,
  toQuote,
} from '../rows/anchoring.ts';

export const chainStatusSql = {
  identity: READ_IDENTITY,
  bind: `INSERT INTO chain_identity (id, chain_id, block_number, genesis_hash) VALUES (1, $1, $2, $3)
    ON CONFLICT DO NOTHING`,
  save: `INSERT INTO chain_status (id, single_gas, base_fee_per_gas, max_priority_fee_per_gas,
      data_fee_wei, degraded, updated_at)
    VALUES (1, $1, $2, $3, $4, '[]', $5)
    ON CONFLICT (id) DO UPDATE SET
      single_gas = coalesce(excluded.single_gas, chain_status.single_gas),
      base_fee_per_gas = coalesce(excluded.base_fee_per_gas, chain_status.base_fee_per_gas),
      max_priority_fee_per_gas =
        coalesce(excluded.max_priority_fee_per_gas, chain_status.max_priority_fee_per_gas),
      data_fee_wei = coalesce(excluded.data_fee_wei, chain_status.data_fee_wei),
      updated_at = excluded.updated_at`,
  saveReasons: `UPDATE leases SET degraded = $3, parked = $4, balance_wei = $5, needed_wei = $6
    WHERE chain_id = $1 AND address = $2`,
  status: `SELECT ${QUOTE_COLUMNS}, degraded FROM chain_status`,
  senders: `SELECT address, degraded, parked, balance_wei AS "balanceWei", needed_wei AS "neededWei"
    FROM leases WHERE holder IS NOT NULL AND expires_at > $1 ORDER BY address`,
} as const;

export function chainStatusStore({ read, write, leased, clock }: StepRunner) {
  const identity = () => first<ChainIdentity>(chainStatusSql.identity);

  return {
    bindChain: (given) =>
      write(function* () {
        const known = yield* identity();
        if (known === undefined) {
          const { chainId, blockNumber, blockHash } = given;
          yield* rows(chainStatusSql.bind, chainId, blockNumber, blockHash);
        }
        requireSameChain(known ?? (yield* identity()), given);
      }),

    getChainIdentity: async () => (await read(identity)) ?? null,

    saveChainStatus: (lease, { quote, degraded, parked, now, balance, neededWei }) =>
      leased.write(lease, function* () {
        const { chainId, sender } = lease;
        const funds = [balance, neededWei].map((wei) => wei?.toString() ?? null);
        const reasons = [JSON.stringify(degraded), parked, ...funds];
        yield* rows(chainStatusSql.saveReasons, chainId, sender, ...reasons);
        const fees = [quote?.singleGas, quote?.baseFeePerGas, quote?.maxPriorityFeePerGas];
        const texts = [...fees, quote?.dataFeeWei].map((wei) => wei?.toString() ?? null);
        yield* rows(chainStatusSql.save, ...texts, now);
      }),

    getChainStatus: () =>
      read(function* () {
        type Status = QuoteRow & { degraded: string };
        const row = yield* first<Status>(chainStatusSql.status);
        if (row === undefined) return null;
        type Sender = Funds & { degraded: string; parked: number };
        const senders = yield* rows<Sender>(chainStatusSql.senders, yield* clock());
        const [held = [], ...ofSenders] = [row, ...senders].map(({ degraded }): string[] =>
          JSON.parse(degraded),
        );
        return {
          quote: toQuote(row),
          degraded: [...new Set([held, ...ofSenders].flat())].sort(),
          isStopped: isAnchoringStopped(held, ofSenders),
          parked: senders.reduce((sum, { parked }) => sum + parked, 0),
          underfunded: senders
            .filter((_, i) => ofSenders[i]?.includes('underfunded'))
            .map(({ address, balanceWei, neededWei }) => ({ address, balanceWei, neededWei })),
        };
      }),
  } satisfies Partial<AnchorStore>;
}
