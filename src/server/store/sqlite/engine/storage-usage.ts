// Stores the usage of storage quotas. Triggers subtract deleted rows.

import { isFundedSince, type UsageTable, usageErrors } from '../../storage-usage.ts';
import type { Access } from './connections.ts';

export function usageTable(
  { reader, writer, read, write }: Access,
  hasRoom: UsageTable['hasRoom'],
): UsageTable {
  const add = writer.prepare<[string, number]>(
    `INSERT INTO storage_usage VALUES (?, ?)
     ON CONFLICT (wallet) DO UPDATE SET bytes = bytes + excluded.bytes`,
  );
  const pool = reader
    .prepare<[number, number], number>(
      `SELECT coalesce(sum(min(bytes, ?)), 0) FROM storage_usage u WHERE NOT ${isFundedSince('?', 'u.wallet')}`,
    )
    .pluck();
  const account = reader.prepare<
    { wallet: string; since: number },
    { bytes: number; funded: 0 | 1 }
  >(
    `SELECT coalesce((SELECT bytes FROM storage_usage WHERE wallet = :wallet), 0) AS bytes,
       ${isFundedSince(':since', ':wallet')} AS funded`,
  );
  const errors = () => reader.prepare<[], { wallet: string; bytes: number }>(usageErrors).all();

  return {
    add: (wallets, bytes) =>
      write(() => {
        for (const [i, wallet] of wallets.entries()) add.run(wallet, bytes[i] ?? 0);
      }),
    readPool: (since, most) => read(() => pool.get(most, since) ?? 0),
    readAccount: (wallet, since) =>
      read(() => {
        const row = account.get({ wallet, since });
        return { bytes: row?.bytes ?? 0, isFunded: row?.funded === 1 };
      }),
    readErrors: () => read(errors),
    hasRoom,
  };
}
