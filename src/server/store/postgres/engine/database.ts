// Gives store code its transactions on PostgreSQL.

import { whileOwned } from '../../anchoring/leases.ts';
import { type Db, type SingleStatements, singleStatements, type Work } from '../../db/database.ts';
import type { Queries } from './connections.ts';
import type { Access } from './transactions.ts';
import { PostgresTx, statementsOf } from './tx.ts';

/** Notifications can be lost, and there are none behind a pooler. */
const POLL_MS = 1_000;

export interface PostgresDb extends Db {
  /**
   * Each statement takes one round trip. It may run again after a lost connection, so a statement that writes MUST be
   * safe to repeat, or only count calls.
   */
  alone: SingleStatements;
}

export function postgresDb(
  access: Access,
  { wake, presence }: Pick<Db, 'wake' | 'presence'>,
): PostgresDb {
  const statements = statementsOf(access.instant);

  async function runOn<Result>(queries: Queries, work: Work<Result>): Promise<Result> {
    const tx = new PostgresTx(queries, statements);
    try {
      return await work(tx);
    } finally {
      await tx.end();
    }
  }

  const read = <Result>(work: Work<Result>) => runOn(access, work);
  const snapshot = <Result>(work: Work<Result>) => access.read((on) => runOn(on, work));
  const write = <Result>(work: Work<Result>) => access.write((on) => runOn(on, work));
  return {
    ...singleStatements(read, write),
    alone: singleStatements(read, read),
    read,
    snapshot,
    leased: {
      read: (lease, work) => snapshot(whileOwned('read', lease, work)),
      write: (lease, work) => write(whileOwned('write', lease, work)),
    },
    write,
    // One batch per commit: a second one would lock rows after the usage of their account.
    deletions: { rowsAtOnce: Number.POSITIVE_INFINITY, msPerCommit: 0 },
    isInProcess: false,
    wake,
    pollMs: POLL_MS,
    presence,
    purgeLog: async () => {},
    joinLogPurge: async () => {},
  };
}
