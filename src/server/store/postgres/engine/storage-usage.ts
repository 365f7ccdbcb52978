// Stores the usage of storage quotas.

import {
  bytesIn,
  isFundedSince,
  type UsageTable,
  usageErrors,
  walletOf,
} from '../../storage-usage.ts';
import { extendTimeout, patiently } from './check.ts';
import type { Queries } from './connections.ts';
import { type Sql, type SqlValue, sql } from './sql.ts';
import type { Access } from './transactions.ts';

const add = sql(`INSERT INTO storage_usage AS u (wallet, bytes)
  SELECT * FROM unnest($1::text[], $2::bigint[]) AS given (wallet, bytes) ORDER BY wallet
  ON CONFLICT (wallet) DO UPDATE SET bytes = u.bytes + excluded.bytes`);
const pool = sql(`SELECT coalesce(sum(least(bytes, $1::bigint)), 0)::bigint AS bytes
  FROM storage_usage u WHERE NOT ${isFundedSince('$2', 'u.wallet')}`);
const account =
  sql(`SELECT coalesce((SELECT bytes FROM storage_usage WHERE wallet = $1), 0) AS bytes,
  ${isFundedSince('$2', '$1')} AS funded`);

export function usageTable(access: Access): UsageTable {
  return {
    async add(wallets, bytes) {
      await access.write((tx) => tx.run(add, [wallets, bytes]));
    },
    readPool: async (since, most) =>
      (await access.first<{ bytes: number }>(pool, [most, since]))?.bytes ?? 0,
    async readAccount(wallet, since) {
      const row = await access.first<{ bytes: number; funded: boolean }>(account, [wallet, since]);
      return { bytes: row?.bytes ?? 0, isFunded: row?.funded === true };
    },
    readErrors: () =>
      access.read(async (tx) => {
        await extendTimeout(tx);
        const rows = await tx.rows<{ wallet: string; bytes: string }>(patiently(usageErrors));
        return rows.map(({ wallet, bytes }) => ({ wallet, bytes: Number(bytes) }));
      }),
    hasRoom: async () => true,
  };
}

/** By table, what a deletion returns for `subtracting`: the account of each deleted row, and its bytes. */
export const freed = {
  tasks: `wallet, ${bytesIn('tasks', 'tasks')} AS bytes`,
  proofs: `(SELECT wallet FROM tasks WHERE id = proofs.task_id) AS wallet, ${bytesIn('proofs', 'proofs')} AS bytes`,
  telemetry: `${walletOf('telemetry.robot_id')} AS wallet, ${bytesIn('telemetry', 'telemetry')} AS bytes`,
  events: `${walletOf('events.robot_id')} AS wallet, ${bytesIn('events', 'events')} AS bytes`,
};

/** Subtracts the rows of the named parts of a WITH from the usage of their accounts. */
export function subtracting(...parts: string[]): string {
  const rows = parts.map((part) => `SELECT wallet, bytes FROM ${part}`).join(' UNION ALL ');
  return `INSERT INTO storage_usage AS u (wallet, bytes)
    SELECT wallet, -sum(bytes) FROM (${rows}) AS freed WHERE wallet IS NOT NULL
    GROUP BY wallet ORDER BY wallet
    ON CONFLICT (wallet) DO UPDATE SET bytes = u.bytes + excluded.bytes`;
}

/** The number of rows that a statement of `freeing` deleted. */
export async function rowsOf(queries: Queries, deletion: Sql, values: SqlValue[]): Promise<number> {
  return (await queries.first<{ rows: number }>(deletion, values))?.rows ?? 0;
}

/** Deletes rows and subtracts their bytes from the usage of their accounts. Run it with `rowsOf`. */
export function freeing(table: keyof typeof freed, deletion: string) {
  return sql(`WITH gone AS (${deletion} RETURNING ${freed[table]}),
    counted AS (${subtracting('gone')})
    SELECT count(*) AS rows FROM gone`);
}
