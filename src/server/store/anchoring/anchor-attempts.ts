// Stores anchor attempts: signing, fee bumps, broadcast and inclusion (steps 3 to 5 of anchoring).

import { SvcError } from '../../../base/svc-error.ts';
import type {
  AnchorStore,
  AttemptState,
  Lease,
  NewAttempt,
  OpenAttempt,
  SenderKey,
  Variant,
} from '../../ports/anchoring.ts';
import { type AttemptEvent, completionMove, moveAttempt } from '../../rules/anchoring.ts';
import { transactionCost } from '../../rules/credits.ts';
import {
  among,
  first,
  type InText,
  lockRows,
  rows,
  type StepRunner,
  type Steps,
  some,
} from '../engine/steps.ts';
import {
  IS_OPEN,
  OPEN_ATTEMPT_COLUMNS,
  requireDearer,
  toVariant,
  VARIANT_COLUMNS,
} from '../rows/anchoring.ts';

const HOUR_MS = 60 * 60_000;

const sign = completionMove('sign');
/** The given leaves `$1`: pairs of task and leaf, in the order of the Merkle tree. */
const GIVEN = 'json_array_elements($1::json) AS g';
const IS_GIVEN = `c.task_id = (g.value ->> 0)::uuid AND c.leaf = g.value ->> 1 AND c.state IN ${sign.from}`;

export const attemptSql = {
  open: `SELECT ${OPEN_ATTEMPT_COLUMNS},
      (SELECT f.tx_hash FROM foreign_nonces f WHERE f.chain_id = attempts.chain_id
        AND f.sender = attempts.sender AND f.nonce = attempts.nonce) AS "takenBy"
    FROM attempts WHERE chain_id = $1 AND sender = $2 AND ${IS_OPEN} ORDER BY nonce`,
  variants: `SELECT attempt_id, ${VARIANT_COLUMNS} FROM variants
    WHERE attempt_id ${among('uuid', 1)} ORDER BY seq`,
  openSenders: `SELECT chain_id AS "chainId", sender AS address FROM attempts WHERE ${IS_OPEN}
    UNION SELECT chain_id, sender FROM attempts WHERE state = 'included'`,
  nonces: `SELECT
    (SELECT max(nonce) FROM attempts WHERE chain_id = $1 AND sender = $2) AS own,
    (SELECT max(nonce) FROM foreign_nonces WHERE chain_id = $1 AND sender = $2) AS "foreign"`,
  insertAttempt: `INSERT INTO attempts (id, chain_id, sender, nonce, state, payload, root,
      leaf_count, unsettled_leaves, created_at, updated_at)
    VALUES ($1, $2, $3, $4, 'signed', $5, $6, $7, $7, $8, $8)
    ON CONFLICT (chain_id, sender, nonce) DO NOTHING`,
  // Not by RETURNING, with which SQLite scans all receipts.
  isInserted: 'SELECT id FROM attempts WHERE id = $1',
  insertVariant: `INSERT INTO variants (attempt_id, seq, tx_hash, raw_tx, max_fee_per_gas,
      max_priority_fee_per_gas, created_at, adopted)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8 = 1)`,
  newestVariant: `SELECT seq, ${VARIANT_COLUMNS} FROM variants
    WHERE attempt_id = $1 ORDER BY seq DESC LIMIT 1`,
  findVariant: 'SELECT tx_hash FROM variants WHERE tx_hash = $1 AND attempt_id = $2',
  lockQueued: `SELECT c.task_id FROM ${GIVEN} CROSS JOIN completions c WHERE ${IS_GIVEN}
    ORDER BY c.task_id FOR NO KEY UPDATE`,
  // The paths follow from the order of the leaves; the settlement stores them.
  insertLeaves: `INSERT INTO leaves (attempt_id, leaf_index, task_id, leaf, path, generation)
    SELECT $2, (g.value ->> 2)::integer, c.task_id, c.leaf, '', c.generation
    FROM ${GIVEN} CROSS JOIN completions c WHERE ${IS_GIVEN}`,
  countLeaves: 'SELECT count(*) AS leaves FROM leaves WHERE attempt_id = $1',
  submit: `UPDATE completions SET state = ${sign.to}, updated_at = $2
    WHERE task_id IN (SELECT task_id FROM leaves WHERE attempt_id = $1) AND state IN ${sign.from}`,
  advanceRound: `UPDATE queue_round SET round = signed.round
    FROM (SELECT max(c.round) AS round FROM leaves l JOIN completions c ON c.task_id = l.task_id
      WHERE l.attempt_id = $1) AS signed
    WHERE id = 1 AND queue_round.round < signed.round`,
  include: `UPDATE attempts SET updated_at = $2, safe = false, mined_tx_hash = $3,
      mined_block_number = $4, mined_block_hash = $5, mined_tx_index = $6, mined_at = $7,
      gas_used = $8, effective_gas_price = $9, data_fee_wei = $10,
      cost_wei = coalesce(cost_wei, $11)
    WHERE id = $1`,
  lock: `SELECT id, state FROM attempts WHERE id ${among('uuid', 1)} AND chain_id = $2
    AND sender = $3 ORDER BY id FOR NO KEY UPDATE`,
  setState: 'UPDATE attempts SET state = $2, updated_at = $3 WHERE id = $1',
  // One reservation of spend at a time, among all instances and accounts.
  serializeSpend: 'UPDATE queue_round SET round = round WHERE id = 1',
  expireSpend: 'DELETE FROM anchor_spend WHERE at <= $1',
  readSpend: 'SELECT wei FROM anchor_spend WHERE at > $1',
  reserveSpend: 'INSERT INTO anchor_spend (attempt_id, at, wei) VALUES ($1, $2, $3)',
} as const;

export function attemptStore({ read, leased }: StepRunner) {
  return {
    getNextNonce: (lease) => leased.read(lease, () => nextNonce(senderOf(lease))),

    commitAttempt: (lease, attempt) =>
      leased.write(lease, function* () {
        yield* takeNonce(lease, attempt);
        yield* addVariant(attempt.id, { seq: 0, isAdopted: false }, attempt.variant, attempt.now);
        yield* moveLeaves(attempt);
        yield* reserveSpend(attempt);
      }),

    addVariant: (lease, attemptId, variant, replaces, now) =>
      leased.write(lease, function* () {
        yield* moveAttempts(lease, [attemptId], 'replace', now);
        const newest = yield* newestVariant(attemptId);
        requireDearer(variant, newest, replaces);
        yield* addVariant(attemptId, { seq: newest.seq + 1, isAdopted: false }, variant, now);
      }),

    adoptVariant: (lease, attemptId, variant, now) =>
      leased.write(lease, function* () {
        if (yield* some(attemptSql.findVariant, variant.txHash, attemptId)) return;
        yield* moveAttempts(lease, [attemptId], 'replace', now);
        const { seq } = yield* newestVariant(attemptId);
        yield* addVariant(attemptId, { seq: seq + 1, isAdopted: true }, variant, now);
      }),

    recordBroadcast: (lease, attemptId, now) =>
      leased.write(lease, () => moveAttempts(lease, [attemptId], 'broadcast', now)),

    recordInclusion: (lease, attemptId, mined, now) =>
      leased.write(lease, function* () {
        if (!(yield* some(attemptSql.findVariant, mined.txHash, attemptId))) {
          throw new Error('The mined transaction is not a variant of the attempt');
        }
        // The position first: the schema allows no mined state without one.
        const { txHash, blockHash, txIndex, blockTimestamp } = mined;
        const place = [txHash, Number(mined.blockNumber), blockHash, txIndex, blockTimestamp];
        const { gasUsed, effectiveGasPrice, dataFeeWei } = mined;
        const costs = [gasUsed, effectiveGasPrice, dataFeeWei, transactionCost(mined)].map(String);
        yield* rows(attemptSql.include, attemptId, now, ...place, ...costs);
        yield* moveAttempts(lease, [attemptId], 'include', now);
      }),

    listOpenAttempts: (lease) => leased.read(lease, () => openAttempts(senderOf(lease))),

    readReservedSpend: (now) => read(() => reservedSince(now - HOUR_MS)),

    listOpenSenders: () => read(() => rows<SenderKey>(attemptSql.openSenders)),
  } satisfies Partial<AnchorStore>;
}

/**
 * Moves attempts of the lease's sender to their next states. Throws, and so undoes the write, if a move is invalid.
 * Call it inside a leased write.
 */
export function* moveAttempts(
  { chainId, sender }: Lease,
  ids: readonly string[],
  event: AttemptEvent,
  now: number,
): Steps<void> {
  if (ids.length === 0) return;
  type Found = { id: string; state: AttemptState };
  const found = yield* rows<Found>(attemptSql.lock, JSON.stringify(ids), chainId, sender);
  if (found.length !== ids.length) throw new Error('The attempt does not belong to this sender');
  for (const { id, state: from } of found) {
    const state = moveAttempt(from, event);
    if (state !== from) yield* rows(attemptSql.setState, id, state, now);
  }
}

/** Reads attempts that are signed, submitted, reorged, or mined with unsettled leaves; lowest nonce first. */
export function* openAttempts({ chainId, address }: SenderKey): Steps<OpenAttempt[]> {
  type Row = Omit<OpenAttempt, 'variants'>;
  const open = yield* rows<Row>(attemptSql.open, chainId, address);
  if (open.length === 0) return [];
  const ids = JSON.stringify(open.map(({ id }) => id));
  const variants = yield* rows<InText<Variant> & { attempt_id: string }>(attemptSql.variants, ids);
  return open.map((attempt) => ({
    ...attempt,
    variants: variants.filter(({ attempt_id }) => attempt_id === attempt.id).map(toVariant),
  }));
}

/** The nonce after the highest one that is committed or known to be used elsewhere; `null` if there is none. */
export function* nextNonce({ chainId, address }: SenderKey): Steps<number | null> {
  type Nonces = { own: number | null; foreign: number | null };
  const row = yield* first<Nonces>(attemptSql.nonces, chainId, address);
  const highest = Math.max(row?.own ?? -1, row?.foreign ?? -1);
  return highest < 0 ? null : highest + 1;
}

function senderOf({ chainId, sender }: Lease): SenderKey {
  return { chainId, address: sender };
}

function* takeNonce(lease: Lease, attempt: NewAttempt): Steps<void> {
  const { id, nonce, payload, root, leaves, now } = attempt;
  const next = yield* nextNonce(senderOf(lease));
  const isNext = next === null || next === nonce;
  if (isNext) {
    const values = [id, lease.chainId, lease.sender, nonce, payload, root, leaves.length, now];
    yield* rows(attemptSql.insertAttempt, ...values);
    // If the insert finds the nonce taken, another commit under the same lease was first.
    if (yield* some(attemptSql.isInserted, id)) return;
  }
  throw new SvcError(
    'nonce_conflict',
    `Nonce ${nonce} does not follow the last committed one${isNext ? '' : `; ${next} does`}.`,
  );
}

/** Moves the queued completions into the attempt, and advances the round. @throws SvcError `not_queued` */
function* moveLeaves({ id, leaves, now }: NewAttempt): Steps<void> {
  const given = JSON.stringify(leaves.map(({ taskId, leaf }, i) => [taskId, leaf, i]));
  yield* lockRows(attemptSql.lockQueued, given);
  yield* rows(attemptSql.insertLeaves, given, id);
  const moved = yield* first<{ leaves: number }>(attemptSql.countLeaves, id);
  if (moved?.leaves !== leaves.length) {
    throw new SvcError('not_queued', 'A proof is no longer queued.');
  }
  yield* rows(attemptSql.submit, id, now);
  yield* rows(attemptSql.advanceRound, id);
}

function* addVariant(
  attemptId: string,
  { seq, isAdopted }: { seq: number; isAdopted: boolean },
  { txHash, rawTx, maxFeePerGas, maxPriorityFeePerGas }: Variant,
  now: number,
): Steps<void> {
  const fees = [String(maxFeePerGas), String(maxPriorityFeePerGas)];
  const values = [attemptId, seq, txHash, rawTx, ...fees, now, Number(isAdopted)];
  yield* rows(attemptSql.insertVariant, ...values);
}

function* newestVariant(attemptId: string): Steps<Variant & { seq: number }> {
  const row = yield* first<InText<Variant> & { seq: number }>(attemptSql.newestVariant, attemptId);
  if (row === undefined) throw new Error(`Attempt ${attemptId} has no variant`);
  return { ...toVariant(row), seq: row.seq };
}

/** Reserves what the attempt may cost, for the cap on an hour's spend. Throws `spend_cap`, which undoes the commit. */
function* reserveSpend({ id, spend, now }: NewAttempt): Steps<void> {
  if (spend === null) return;
  yield* rows(attemptSql.serializeSpend);
  yield* rows(attemptSql.expireSpend, now - HOUR_MS);
  if ((yield* reservedSince(now - HOUR_MS)) + spend.maxCostWei > spend.capWei) {
    throw new SvcError('spend_cap', 'The anchors of the last hour may cost as much as is allowed.');
  }
  yield* rows(attemptSql.reserveSpend, id, now, String(spend.maxCostWei));
}

function* reservedSince(at: number): Steps<bigint> {
  const reserved = yield* rows<{ wei: string }>(attemptSql.readSpend, at);
  return reserved.reduce((sum, { wei }) => sum + BigInt(wei), 0n);
}
