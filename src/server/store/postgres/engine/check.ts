// Reads one snapshot of a PostgreSQL database for the checks of its invariants.

import { checkInvariants, type Finding } from '../../invariants/check.ts';
import type { Snapshot } from '../../invariants/snapshot.ts';
import { type UsageError, usageErrors } from '../../storage-usage.ts';
import { type Queries, type Statement, sql } from './connections.ts';
import type { Access } from './transactions.ts';
import { PostgresTx, statementsOf } from './tx.ts';

/** The timeout of a statement that reads the whole database, in ms (12 hours). */
const PATIENCE_MS = 12 * 60 * 60_000;
const ROWS_AT_ONCE = 100;

export async function checkDatabase(access: Access): Promise<Finding[]> {
  // Without statistics, as after a restore, PostgreSQL takes the ledger for small and compares each entry with all others.
  await access.run(patiently('ANALYZE ledger'));
  return access.read(async (tx) => {
    await extendTimeout(tx);
    return checkInvariants(snapshotOf(tx), { proofs: 'proofs p', others: {} });
  });
}

function snapshotOf(tx: Queries): Snapshot {
  return {
    /** Reads with a cursor. Scan a query only once at a time. */
    async *scan<Row extends object>(query: string) {
      const cursor = sql(query).name;
      await tx.run(patiently(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query}`));
      const fetch = patiently(`FETCH ${ROWS_AT_ONCE} FROM ${cursor}`);
      let rows: Row[];
      do {
        rows = await tx.rows<Row>(fetch);
        for (const row of rows) yield row;
      } while (rows.length === ROWS_AT_ONCE);
      await tx.run(patiently(`CLOSE ${cursor}`));
    },
    tx: new PostgresTx(
      tx,
      statementsOf(() => null),
    ),
  };
}

/** Reads the stored bytes that the saved usage lacks. */
export function readUsageErrors(access: Access): Promise<UsageError[]> {
  return access.read(async (tx) => {
    await extendTimeout(tx);
    const rows = await tx.rows<{ wallet: string; bytes: string }>(patiently(usageErrors));
    return rows.map(({ wallet, bytes }) => ({ wallet, bytes: Number(bytes) }));
  });
}

/** Lets the statements of this transaction read the whole database, if they are `patiently` made. */
async function extendTimeout(tx: Queries): Promise<void> {
  await tx.run(patiently(`SET LOCAL statement_timeout = ${PATIENCE_MS}`));
}

function patiently(text: string): Statement {
  return { ...sql(text), patienceMs: PATIENCE_MS };
}
