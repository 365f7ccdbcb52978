// Stores evidence, encrypted so that erasing its key erases it: reads it, assembles bundles, and erases it.

import { randomBytes } from 'node:crypto';
import { decrypt, encrypt } from '../../base/aes-gcm.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { BundleRecord, EvidenceRecord, EvidenceStore } from '../ports/evidence.ts';
import { type ChainProofRow, toChainProof } from './anchoring/chain-proofs.ts';
import { recordAudit } from './audit-log.ts';
import { type Db, deleteInCommit } from './db/database.ts';
import { onPostgres, selected } from './db/dialect.ts';
import { perDialect, raw, sql } from './db/sql.ts';
import { KEY_COLUMNS, type KeyRow, toKey } from './signing/identity.ts';
import { freed, freeing } from './storage-usage.ts';
import { isVisible, TASK_COLUMNS, TASK_JOINS, type TaskRow, toTask } from './tasks.ts';

/*
 * Each piece of evidence is encrypted under a key of its own. SQLite may leave copies of a row in pages that it
 * rearranged; the row of a key never moves, and without the key no copy of the evidence can be read. The encryption
 * serves erasure only: it does not protect against a reader of the file, which holds the keys too.
 */

/** A constant nonce is safe because each key encrypts one text only. */
const once = { nonce: Buffer.alloc(12) };

export function newProofKey(): Buffer {
  return randomBytes(32);
}

/** Encrypts the UTF-8 text: AES-256-GCM, then its 16-byte tag. The key MUST be new. */
export function sealProof(proof: string, key: Buffer): Buffer {
  return encrypt(key, Buffer.from(proof), once);
}

/** @throws Error if the evidence was sealed with another key or was altered. */
export function openProof(sealed: Buffer, key: Buffer): string {
  return decrypt(key, sealed, once).toString('utf8');
}

interface EvidenceRow extends TaskRow {
  sealed: Buffer | null;
  key: Buffer | null;
}

interface BundleRow extends EvidenceRow, ChainProofRow, Omit<KeyRow, 'kid'> {
  robotName: string;
  blockHash: Hex | null;
  txIndex: number | null;
  rawTx: Hex | null;
  /** Null if the robot did not sign the work, as all columns of its key. */
  kid: string | null;
  result: string | null;
  claim: string | null;
}

const COLUMNS = sql`${TASK_COLUMNS}, sealed, key`;

/** SQLite keeps keys in a table of their own. */
const JOIN_KEYS = perDialect({
  sqlite: sql`LEFT JOIN proof_keys k ON k.id = p.key_id`,
  postgres: sql``,
});
const FROM = sql`FROM tasks t ${TASK_JOINS} LEFT JOIN proofs p ON p.task_id = t.id ${JOIN_KEYS}`;
const FREED = raw(freed.proofs);

/**
 * No query finds erased evidence once the promise resolves, and no copy remains in the files of SQLite. Outside of
 * queries, PostgreSQL keeps the key and the sealed evidence for a while:
 * - in the table's files, until a vacuum frees the rows (autovacuum runs once 50 rows and 2 % of the table are erased)
 *   and new rows overwrite them, which only `VACUUM FULL proofs` forces;
 * - in the write-ahead log, until its files are recycled;
 * - in replicas, archives and earlier backups, as long as those are kept.
 */
export function evidenceStore({ read, write, deletions, purgeLog, joinLogPurge }: Db) {
  return {
    getEvidence: (id, viewer) =>
      read(async (tx) => {
        const row = await tx.get<EvidenceRow>(
          sql`SELECT ${COLUMNS} ${FROM} WHERE t.id = ${id} AND ${isVisible(viewer)}`,
        );
        return row === null ? null : toEvidence(row);
      }),

    getBundle: (id, viewer) =>
      read(async (tx) => {
        const row = await tx.get<BundleRow>(sql`SELECT ${COLUMNS}, robots.name AS "robotName",
            ra.mined_block_hash AS "blockHash", ra.mined_tx_index AS "txIndex", v.raw_tx AS "rawTx",
            cp.header, cp.nodes, ${KEY_COLUMNS}, s.statement AS result,
            (SELECT statement FROM statements
              WHERE task_id = t.id AND robot_id = t.robot_id AND type = 'claim'
              AND kid = s.kid AND number < s.number
              ORDER BY number DESC, place LIMIT 1) AS claim
          ${FROM}
          JOIN robots ON robots.id = t.robot_id
          LEFT JOIN variants v ON v.tx_hash = ra.mined_tx_hash
          LEFT JOIN chain_proofs cp ON cp.attempt_id = ra.id
          LEFT JOIN statements s ON s.task_id = t.id AND s.robot_id = t.robot_id
            AND s.statement_hash = c.statement_hash
          LEFT JOIN robot_keys sk ON sk.kid = s.kid
          WHERE t.id = ${id} AND ${isVisible(viewer)}`);
        return row === null ? null : toBundle(row);
      }),

    async eraseProof(id, wallet, by) {
      const outcome = await write(async (tx) => {
        type Task = { completed: boolean | 0 | 1 };
        const task = await tx.get<Task>(
          sql`SELECT EXISTS (SELECT 1 FROM completions c WHERE c.task_id = t.id) AS completed
            FROM tasks t WHERE t.id = ${id} AND t.wallet = ${wallet}`,
        );
        if (task === null) return 'not_found';
        if (!task.completed) return 'nothing_stored';
        const erased = await freeing(
          tx,
          sql`DELETE FROM proofs WHERE task_id = ${id} RETURNING ${FREED}`,
        );
        if (erased === 0) return 'erased_before';
        await recordAudit(tx, wallet, 'evidence_erased', by, { target_id: id });
        return 'erased';
      });
      if (outcome === 'erased') await purgeLog();
      if (outcome !== 'erased_before') return outcome;
      await joinLogPurge();
      return 'erased';
    },

    async eraseOldProofs(before, limit) {
      const { done, more } = await write((tx) =>
        deleteInCommit(deletions, limit, (most) => {
          const oldest = sql`SELECT task_id FROM proofs WHERE stored_at < ${before}
            ORDER BY stored_at LIMIT ${most} ${onPostgres(sql`FOR UPDATE SKIP LOCKED`)}`;
          return freeing(
            tx,
            sql`DELETE FROM proofs WHERE task_id ${selected(oldest)} RETURNING ${FREED}`,
          );
        }),
      );
      // Not awaited: one purge serves many steps.
      if (done > 0) void purgeLog();
      return more;
    },
  } satisfies Partial<EvidenceStore>;
}

function toEvidence(row: EvidenceRow): EvidenceRecord {
  const { sealed, key } = row;
  const proof = sealed === null || key === null ? null : openProof(sealed, key);
  return { task: toTask(row), proof };
}

function toBundle(row: BundleRow): BundleRecord {
  const { robotName, blockHash, txIndex, rawTx, kid, result, claim } = row;
  const isMined = blockHash !== null && txIndex !== null && rawTx !== null;
  return {
    ...toEvidence(row),
    robotName,
    mined: isMined ? { blockHash, txIndex, rawTx, chainProof: toChainProof(row) } : null,
    signing:
      kid === null || result === null ? null : { key: toKey({ ...row, kid }), result, claim },
  };
}
