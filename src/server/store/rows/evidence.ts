// Encrypts evidence at rest, so that erasing its key erases the evidence, and converts its rows.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Hex } from '../../../proof/bytes.ts';
import type { BundleRecord, EvidenceRecord } from '../../ports/evidence.ts';
import { JOIN_PROOFS } from '../engine/steps.ts';
import { type ChainProofRow, toChainProof } from './anchoring.ts';
import { IS_VISIBLE, TASK_COLUMNS, TASK_JOINS, type TaskRow, toTask } from './tasks.ts';

/*
 * Each piece of evidence is encrypted under a key of its own. SQLite may leave copies of a row in pages that it
 * rearranged; the row of a key never moves, and without the key no copy of the evidence can be read. The encryption
 * serves erasure only: it does not protect against a reader of the file, which holds the keys too.
 */

const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
/** A constant nonce is safe because each key encrypts one text only. */
const NONCE = Buffer.alloc(12);

export function newProofKey(): Buffer {
  return randomBytes(32);
}

/** Encrypts the UTF-8 text with AES-256-GCM: ciphertext, then the 16-byte tag. The key MUST be new. */
export function sealProof(proof: string, key: Buffer): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, NONCE);
  return Buffer.concat([cipher.update(proof, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error if the evidence was sealed with another key or was altered. */
export function openProof(sealed: Buffer, key: Buffer): string {
  const decipher = createDecipheriv(ALGORITHM, key, NONCE, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const text = [decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()];
  return Buffer.concat(text).toString('utf8');
}

export interface EvidenceRow extends TaskRow {
  sealed: Buffer | null;
  key: Buffer | null;
}

export interface BundleRow extends EvidenceRow, ChainProofRow {
  robotName: string;
  blockHash: Hex | null;
  txIndex: number | null;
  rawTx: Hex | null;
}

const COLUMNS = `SELECT ${TASK_COLUMNS}, sealed, key`;
const FROM = `FROM tasks t ${TASK_JOINS} ${JOIN_PROOFS}`;
const WHERE = `WHERE t.id = $1 AND ${IS_VISIBLE}`;

/** The visible task with its evidence. */
export const FIND_EVIDENCE = `${COLUMNS} ${FROM} ${WHERE}`;

/** As `FIND_EVIDENCE`, with what else is in a bundle. */
export const FIND_BUNDLE = `${COLUMNS}, robots.name AS "robotName", ra.mined_block_hash AS "blockHash",
    ra.mined_tx_index AS "txIndex", v.raw_tx AS "rawTx", cp.header, cp.nodes
  ${FROM}
  JOIN robots ON robots.id = t.robot_id
  LEFT JOIN variants v ON v.tx_hash = ra.mined_tx_hash
  LEFT JOIN chain_proofs cp ON cp.attempt_id = ra.id
  ${WHERE}`;

export function toEvidence(row: EvidenceRow): EvidenceRecord {
  const { sealed, key } = row;
  const proof = sealed === null || key === null ? null : openProof(sealed, key);
  return { task: toTask(row), proof };
}

export function toBundle(row: BundleRow): BundleRecord {
  const { robotName, blockHash, txIndex, rawTx } = row;
  const isMined = blockHash !== null && txIndex !== null && rawTx !== null;
  return {
    ...toEvidence(row),
    robotName,
    mined: isMined ? { blockHash, txIndex, rawTx, chainProof: toChainProof(row) } : null,
  };
}
