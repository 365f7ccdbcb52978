// Stores anchor attempts: signing, fee bumps, broadcast and inclusion (steps 3 to 5 of anchoring).

import type { Database } from 'better-sqlite3';
import { SvcError } from '../../../base/svc-error.ts';
import type { Hex } from '../../../proof/bytes.ts';
import type {
  AnchorStore,
  AttemptState,
  Lease,
  NewAttempt,
  OpenAttempt,
  Variant,
} from '../../ports/anchoring.ts';
import { type AttemptEvent, completionMove, moveAttempt } from '../../rules/anchoring.ts';
import { transactionCost } from '../../rules/credits.ts';
import { reserveSpend } from '../anchor-spend.ts';
import {
  IS_OPEN,
  OPEN_ATTEMPT_COLUMNS,
  requireDearer,
  toVariant,
  VARIANT_COLUMNS,
  type VariantRow,
} from '../rows/anchoring.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';
import type { LeasedAccess } from './leases.ts';

type LeaseKey = Pick<Lease, 'chainId' | 'sender'>;

export function attemptStore(
  { reader, writer, read }: Access,
  leased: LeasedAccess,
): Pick<
  AnchorStore,
  | 'getNextNonce'
  | 'commitAttempt'
  | 'addVariant'
  | 'adoptVariant'
  | 'recordBroadcast'
  | 'recordInclusion'
  | 'listOpenAttempts'
  | 'listOpenSenders'
> {
  const nextNonce = nextNonceReader(reader);
  const nextNonceInWrite = nextNonceReader(writer);
  const openAttempts = openAttemptReader(reader);
  const insertAttempt = writer.prepare<[Record<string, string | number | null>]>(
    `INSERT INTO attempts (id, chain_id, sender, nonce, state, payload, root, leaf_count,
       unsettled_leaves, created_at, updated_at)
     VALUES (:id, :chainId, :sender, :nonce, 'signed', :payload, :root, :leafCount,
       :leafCount, :now, :now)`,
  );
  const insertVariant = variantWriter(writer);
  const markAdopted = writer.prepare<[Hex]>('UPDATE variants SET adopted = 1 WHERE tx_hash = ?');
  const addLeaves = leafWriter(writer);
  const newestVariant = newestVariantReader(writer);
  const move = attemptMover(writer);
  const findVariant = writer.prepare<[Hex, string]>(
    'SELECT 1 FROM variants WHERE tx_hash = ? AND attempt_id = ?',
  );
  const included = writer.prepare<[Record<string, string | number | bigint>]>(
    `UPDATE attempts SET updated_at = :now, safe = 0, mined_tx_hash = :txHash,
       mined_block_number = :blockNumber, mined_block_hash = :blockHash, mined_tx_index = :txIndex,
       mined_at = :blockTimestamp, gas_used = :gasUsed, effective_gas_price = :effectiveGasPrice,
       data_fee_wei = :dataFeeWei, cost_wei = coalesce(cost_wei, :cost)
     WHERE id = :id`,
  );

  const openSenders = reader.prepare<[], { chainId: number; address: string }>(
    `SELECT chain_id AS chainId, sender AS address FROM attempts WHERE ${IS_OPEN}
     UNION SELECT chain_id, sender FROM attempts WHERE state = 'included'`,
  );

  return {
    getNextNonce: (lease) => leased.read(lease, () => nextNonce(lease)),

    commitAttempt: (lease, attempt) =>
      leased.write(lease, () => {
        const next = nextNonceInWrite(lease);
        if (next !== null && next !== attempt.nonce) {
          throw new SvcError(
            'nonce_conflict',
            `Nonce ${attempt.nonce} does not follow the last committed one; ${next} does.`,
          );
        }
        const { id, nonce, payload, root, leaves, variant, now } = attempt;
        const { chainId, sender } = lease;
        insertAttempt.run({
          id,
          chainId,
          sender,
          nonce,
          payload,
          root,
          leafCount: leaves.length,
          now,
        });
        insertVariant(id, 0, variant, now);
        addLeaves(attempt);
        runOn(writer)(reserveSpend(attempt));
      }),

    addVariant: (lease, attemptId, variant, replaces, now) =>
      leased.write(lease, () => {
        move(lease, attemptId, 'replace', now);
        const newest = newestVariant(attemptId);
        requireDearer(variant, newest, replaces);
        insertVariant(attemptId, newest.seq + 1, variant, now);
      }),

    adoptVariant: (lease, attemptId, variant, now) =>
      leased.write(lease, () => {
        if (findVariant.get(variant.txHash, attemptId) !== undefined) return;
        move(lease, attemptId, 'replace', now);
        insertVariant(attemptId, newestVariant(attemptId).seq + 1, variant, now);
        markAdopted.run(variant.txHash);
      }),

    recordBroadcast: (lease, attemptId, now) =>
      leased.write(lease, () => move(lease, attemptId, 'broadcast', now)),

    recordInclusion: (lease, attemptId, mined, now) =>
      leased.write(lease, () => {
        if (findVariant.get(mined.txHash, attemptId) === undefined) {
          throw new Error('The mined transaction is not a variant of the attempt');
        }
        // The position first: the schema allows no mined state without one.
        included.run({
          ...mined,
          id: attemptId,
          gasUsed: mined.gasUsed.toString(),
          effectiveGasPrice: mined.effectiveGasPrice.toString(),
          dataFeeWei: mined.dataFeeWei.toString(),
          cost: transactionCost(mined).toString(),
          now,
        });
        move(lease, attemptId, 'include', now);
      }),

    listOpenAttempts: (lease) => leased.read(lease, () => openAttempts(lease)),

    listOpenSenders: () => read(() => openSenders.all()),
  };
}

/** The nonce after the highest one that is committed or known to be used elsewhere; `null` if there is none. */
export function nextNonceReader(db: Database): (sender: LeaseKey) => number | null {
  const highest = (table: 'attempts' | 'foreign_nonces') =>
    db.prepare<[number, string], { nonce: number }>(
      `SELECT nonce FROM ${table} WHERE chain_id = ? AND sender = ? ORDER BY nonce DESC LIMIT 1`,
    );
  const readers = [highest('attempts'), highest('foreign_nonces')];
  return ({ chainId, sender }) => {
    const nonces = readers.flatMap((reader) => reader.get(chainId, sender)?.nonce ?? []);
    return nonces.length === 0 ? null : Math.max(...nonces) + 1;
  };
}

/** Reads attempts that are signed, submitted, reorged, or mined with unsettled leaves; lowest nonce first. */
export function openAttemptReader(db: Database): (sender: LeaseKey) => OpenAttempt[] {
  const open = db.prepare<[number, string], Omit<OpenAttempt, 'variants'>>(
    `SELECT ${OPEN_ATTEMPT_COLUMNS},
       (SELECT f.tx_hash FROM foreign_nonces f WHERE f.chain_id = attempts.chain_id
          AND f.sender = attempts.sender AND f.nonce = attempts.nonce) AS "takenBy"
     FROM attempts
     WHERE chain_id = ? AND sender = ? AND ${IS_OPEN}
     ORDER BY nonce`,
  );
  const variants = db.prepare<[string], VariantRow>(
    `SELECT ${VARIANT_COLUMNS} FROM variants
     WHERE attempt_id = ? ORDER BY seq`,
  );
  return ({ chainId, sender }) =>
    open
      .all(chainId, sender)
      .map((row) => ({ ...row, variants: variants.all(row.id).map(toVariant) }));
}

/** Moves an attempt of the lease's sender to its next state. Throws, and so undoes the write, if no move is allowed. */
type AttemptMover = (lease: Lease, id: string, event: AttemptEvent, now: number) => void;

export function attemptMover(writer: Database): AttemptMover {
  const find = writer.prepare<[string, number, string], { state: AttemptState }>(
    'SELECT state FROM attempts WHERE id = ? AND chain_id = ? AND sender = ?',
  );
  const set = writer.prepare<[AttemptState, number, string]>(
    'UPDATE attempts SET state = ?, updated_at = ? WHERE id = ?',
  );
  return ({ chainId, sender }, id, event, now) => {
    const row = find.get(id, chainId, sender);
    if (row === undefined) throw new Error('The attempt does not belong to this sender');
    const state = moveAttempt(row.state, event);
    if (state !== row.state) set.run(state, now, id);
  };
}

function variantWriter(
  writer: Database,
): (attemptId: string, seq: number, variant: Variant, now: number) => void {
  const insert = writer.prepare<[Record<string, string | number>]>(
    `INSERT INTO variants (tx_hash, attempt_id, seq, raw_tx, max_fee_per_gas,
       max_priority_fee_per_gas, created_at)
     VALUES (:txHash, :attemptId, :seq, :rawTx, :maxFeePerGas, :maxPriorityFeePerGas, :now)`,
  );
  return (attemptId, seq, variant, now) => {
    insert.run({
      ...variant,
      maxFeePerGas: variant.maxFeePerGas.toString(),
      maxPriorityFeePerGas: variant.maxPriorityFeePerGas.toString(),
      attemptId,
      seq,
      now,
    });
  };
}

function newestVariantReader(writer: Database): (attemptId: string) => Variant & { seq: number } {
  const newest = writer.prepare<[string], VariantRow & { seq: number }>(
    `SELECT ${VARIANT_COLUMNS}, seq FROM variants
     WHERE attempt_id = ? ORDER BY seq DESC LIMIT 1`,
  );
  return (attemptId) => {
    const row = newest.get(attemptId);
    if (row === undefined) throw new Error(`Attempt ${attemptId} has no variant`);
    return { ...toVariant(row), seq: row.seq };
  };
}

/** Moves the queued completions into the attempt, and advances the round. @throws SvcError `not_queued` */
function leafWriter(writer: Database): (attempt: NewAttempt) => void {
  const { to, from } = completionMove('sign');
  // In the given order, which the Merkle tree has. The paths follow from it; the settlement stores them.
  const insert = writer.prepare<[{ id: string; leaves: string }]>(
    `INSERT INTO leaves (attempt_id, leaf_index, task_id, leaf, path, generation)
     SELECT :id, json_each.key, c.task_id, c.leaf, '', c.generation
     FROM json_each(:leaves) CROSS JOIN completions c ON c.task_id = json_each.value ->> 0
     WHERE c.leaf = json_each.value ->> 1 AND c.state IN ${from}`,
  );
  const submit = writer.prepare<[{ id: string; now: number }]>(
    `UPDATE completions SET state = ${to}, updated_at = :now
     WHERE task_id IN (SELECT task_id FROM leaves WHERE attempt_id = :id) AND state IN ${from}`,
  );
  const advance = writer.prepare<[string]>(
    `UPDATE queue_round SET round = max(round, (SELECT max(c.round) FROM leaves l
       JOIN completions c ON c.task_id = l.task_id WHERE l.attempt_id = ?)) WHERE id = 1`,
  );
  return ({ id, leaves, now }) => {
    const given = leaves.map(({ taskId, leaf }) => [taskId, leaf]);
    const { changes } = insert.run({ id, leaves: JSON.stringify(given) });
    if (changes !== leaves.length) throw new SvcError('not_queued', 'A proof is no longer queued.');
    submit.run({ id, now });
    advance.run(id);
  };
}
