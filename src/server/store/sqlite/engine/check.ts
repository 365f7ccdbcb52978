// Reads one snapshot of a SQLite database for the checks of its invariants.

import { sqliteErrorKind } from '../../../../base/sqlite.ts';
import { storageUnavailable } from '../../../ports/errors.ts';
import { checkInvariants, type Finding } from '../../invariants/check.ts';
import { type Invariant, type Snapshot, selecting } from '../../invariants/snapshot.ts';
import { openReader } from './connections.ts';
import { SqliteTx, statementsOn } from './tx.ts';

const keysOfErasedEvidence = `
  SELECT 'key ' || id || ' exists without its evidence' FROM proof_keys
  WHERE key <> zeroblob(32) AND id NOT IN (SELECT key_id FROM proofs)`;

const wrongCount = `SELECT 'the count of challenges is wrong' FROM challenge_count
  WHERE total <> (SELECT count(*) FROM challenges)`;

/** Checks the invariants on a connection of its own, so that other reads go on meanwhile. */
export async function checkDatabase(path: string): Promise<Finding[]> {
  const db = openReader(path);
  const snapshot: Snapshot = {
    async *scan<Row extends object>(query: string) {
      for (const row of db.prepare<[], Row>(query).iterate()) yield row;
    },
    tx: new SqliteTx(statementsOn(db, Date.now)),
  };
  try {
    db.exec('BEGIN');
    return await checkInvariants(snapshot, {
      proofs: 'proofs p JOIN proof_keys k ON k.id = p.key_id',
      others: {
        file_is_sound: fileIsSound,
        challenges_are_counted: selecting(wrongCount),
        key_of_erased_evidence_is_gone: selecting(keysOfErasedEvidence),
      },
    });
  } catch (error) {
    if (sqliteErrorKind(error) === null) throw error;
    throw storageUnavailable('The database cannot be read.', error);
  } finally {
    db.close();
  }
}

const fileIsSound: Invariant = async function* ({ scan }) {
  const verdicts = scan<{ integrity_check: string }>('PRAGMA integrity_check');
  for await (const { integrity_check: verdict } of verdicts) if (verdict !== 'ok') yield verdict;
  const orphans = scan<{ table: string; parent: string }>('PRAGMA foreign_key_check');
  for await (const { table, parent } of orphans) {
    yield `a row of ${table} has no row in ${parent}`;
  }
};
