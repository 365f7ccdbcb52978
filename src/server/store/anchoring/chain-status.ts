// Stores the chain's identity, the newest fee quote and the reasons for degraded anchoring.

import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, ChainIdentity, FeeQuote, Funds } from '../../ports/anchoring.ts';
import { isAnchoringStopped } from '../../rules/anchoring.ts';
import type { Db, Tx } from '../db/database.ts';
import { NOW, raw, sql } from '../db/sql.ts';

/** The members are null until there is a quote. */
export type QuoteRow = Record<keyof FeeQuote, string | null>;

export const QUOTE_COLUMNS = `single_gas AS "singleGas", base_fee_per_gas AS "baseFeePerGas",
  max_priority_fee_per_gas AS "maxPriorityFeePerGas", data_fee_wei AS "dataFeeWei"`;

const IDENTITY = sql`SELECT chain_id AS "chainId", block_number AS "blockNumber",
  genesis_hash AS "blockHash" FROM chain_identity`;

export function chainStatusStore({ get, read, write, leased }: Db) {
  return {
    bindChain: (given) =>
      write(async (tx) => {
        const { chainId, blockNumber, blockHash } = given;
        await tx.run(sql`INSERT INTO chain_identity (id, chain_id, block_number, genesis_hash)
          VALUES (1, ${chainId}, ${blockNumber}, ${blockHash}) ON CONFLICT DO NOTHING`);
        requireSameChain(await tx.one<ChainIdentity>(IDENTITY), given);
      }),

    getChainIdentity: () => get<ChainIdentity>(IDENTITY),

    saveChainStatus: (lease, { quote, degraded, parked, now, balance, neededWei }) =>
      leased.write(lease, async (tx) => {
        await tx.run(sql`UPDATE leases SET degraded = ${JSON.stringify(degraded)},
            parked = ${parked}, balance_wei = ${inText(balance)}, needed_wei = ${inText(neededWei)}
          WHERE chain_id = ${lease.chainId} AND address = ${lease.sender}`);
        await saveQuote(tx, quote, now);
      }),

    getChainStatus: () =>
      read(async (tx) => {
        const row = await tx.get<QuoteRow & { degraded: string }>(
          sql`SELECT ${raw(QUOTE_COLUMNS)}, degraded FROM chain_status`,
        );
        if (row === null) return null;
        const senders = await tx.all<Funds & { degraded: string; parked: number }>(sql`
          SELECT address, degraded, parked, balance_wei AS "balanceWei", needed_wei AS "neededWei"
          FROM leases WHERE holder IS NOT NULL AND expires_at > ${NOW} ORDER BY address`);
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

/** @throws SvcError `chain_mismatch` unless the database is bound to this chain. */
function requireSameChain(bound: ChainIdentity, given: ChainIdentity): void {
  if (textOf(bound) === textOf(given)) return;
  throw new SvcError(
    'chain_mismatch',
    `This database belongs to ${textOf(bound)}, but SVC_CHAIN_RPC_URL belongs to ${textOf(given)}.`,
    { hint: 'Set SVC_CHAIN_RPC_URL to a node of the first chain, or use another database.' },
  );
}

function textOf({ chainId, blockNumber, blockHash }: ChainIdentity): string {
  return `chain ${chainId} with block ${blockNumber} ${blockHash}`;
}

/** Keeps the saved quote if there is no new one. */
async function saveQuote(tx: Tx, quote: FeeQuote | undefined, now: number): Promise<void> {
  await tx.run(sql`
    INSERT INTO chain_status (id, single_gas, base_fee_per_gas, max_priority_fee_per_gas,
      data_fee_wei, degraded, updated_at)
    VALUES (1, ${inText(quote?.singleGas)}, ${inText(quote?.baseFeePerGas)},
      ${inText(quote?.maxPriorityFeePerGas)}, ${inText(quote?.dataFeeWei)}, '[]', ${now})
    ON CONFLICT (id) DO UPDATE SET
      single_gas = coalesce(excluded.single_gas, chain_status.single_gas),
      base_fee_per_gas = coalesce(excluded.base_fee_per_gas, chain_status.base_fee_per_gas),
      max_priority_fee_per_gas =
        coalesce(excluded.max_priority_fee_per_gas, chain_status.max_priority_fee_per_gas),
      data_fee_wei = coalesce(excluded.data_fee_wei, chain_status.data_fee_wei),
      updated_at = excluded.updated_at`);
}

export function toQuote(row: QuoteRow): FeeQuote | null {
  const { singleGas, baseFeePerGas, maxPriorityFeePerGas: tip, dataFeeWei } = row;
  if (singleGas === null || baseFeePerGas === null || tip === null || dataFeeWei === null) {
    return null;
  }
  return {
    singleGas: BigInt(singleGas),
    baseFeePerGas: BigInt(baseFeePerGas),
    maxPriorityFeePerGas: BigInt(tip),
    dataFeeWei: BigInt(dataFeeWei),
  };
}

function inText(wei: bigint | null | undefined): string | null {
  return wei?.toString() ?? null;
}
