// The migrations of a SQLite database, one for each released version.

import { readFileSync } from 'node:fs';
import { bytesIn, walletOf } from '../storage-usage.ts';
import { decodeSummary } from '../telemetry/roll-ups-002.ts';
import type { Migration } from './engine/migrate.ts';

/** A trigger that subtracts a deleted row from the usage of its account. */
function freeing(table: Parameters<typeof bytesIn>[0], wallet: string): string {
  return `CREATE TRIGGER ${table}_freed AFTER DELETE ON ${table} BEGIN
  INSERT INTO storage_usage SELECT wallet, -bytes FROM
    (SELECT ${wallet} AS wallet, ${bytesIn(table, 'OLD')} AS bytes) WHERE wallet IS NOT NULL
    ON CONFLICT (wallet) DO UPDATE SET bytes = bytes + excluded.bytes;
END;`;
}

const sqlOf = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');

/** In order. `PRAGMA user_version` is the number of migrations a database has. Never edit a released one. */
export const migrations: readonly Migration[] = [
  [
    sqlOf('./sqlite-001.sql'),
    freeing('tasks', 'OLD.wallet'),
    freeing('proofs', '(SELECT wallet FROM tasks WHERE id = OLD.task_id)'),
    freeing('telemetry', walletOf('OLD.robot_id')),
    freeing('events', walletOf('OLD.robot_id')),
  ].join('\n'),
  sqlOf('./sqlite-002.sql'),
  (db) => {
    type Column = keyof ReturnType<typeof decodeSummary>;
    db.function('decoded', (column: Column, summary: Buffer, names: string | null) => {
      return decodeSummary(summary, names)[column];
    });
    db.exec(sqlOf('./sqlite-003.sql'));
    db.exec(freeing('robot_keys', walletOf('OLD.robot_id')));
    db.exec(freeing('statements', walletOf('OLD.robot_id')));
  },
];
