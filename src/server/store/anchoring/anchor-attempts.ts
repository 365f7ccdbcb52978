// Stores anchor attempts: signing, fee bumps, broadcast and inclusion (steps 3 to 5 of anchoring).

import { SvcError } from '../../../base/svc-error.ts';
import type { Hex } from '../../../proof/bytes.ts';
import type {
  AnchorStore,
  AttemptState,
  Lease,
  MinedVariant,
  NewAttempt,
  OpenAttempt,
  SenderKey,
  Variant,
} from '../../ports/anchoring.ts';
import { type AttemptEvent, moveAttempt } from '../../rules/anchoring.ts';
import { transactionCost } from '../../rules/credits.ts';
import type { Db, Tx } from '../db/database.ts';
import { among, onPostgres } from '../db/dialect.ts';
import type { InText } from '../db/rows.ts';
import { raw, type Sql, sql } from '../db/sql.ts';
import { endAssignment, placeLeaves } from './assignments.ts';

const HOUR_MS = 60 * 60_000;

/** The condition of the index of open attempts, word for word: neither database uses the index for another wording. */
export const IS_OPEN = raw(`(state IN ('signed', 'submitted', 'reorged')
  OR (state IN ('included', 'finalized') AND unsettled_leaves > 0))`);

const VARIANT_COLUMNS = raw(`tx_hash AS "txHash", raw_tx AS "rawTx",
  max_fee_per_gas AS "maxFeePerGas", max_priority_fee_per_gas AS "maxPriorityFeePerGas"`);

type VariantRow = InText<Variant>;

interface AttemptRow {
  id: string;
  chainId: number;
  sender: string;
  state: AttemptState;
}

export function attemptStore({ all, read, leased }: Db) {
  return {
    getNextNonce: (lease) => leased.read(lease, (tx) => nextNonce(tx, senderOf(lease))),

    commitAttempt: (lease, attempt) =>
      leased.write(lease, async (tx) => {
        const { id, variant, now } = attempt;
        await takeNonce(tx, lease, attempt);
        await addVariant(tx, id, { ...variant, seq: 0, isAdopted: false }, now);
        if (attempt.assigned > 0 && !(await endAssignment(tx, id))) {
          throw new SvcError('not_queued', 'The leaves were returned to the queue.');
        }
        await placeLeaves(tx, attempt, attempt.assigned, Number.MAX_SAFE_INTEGER);
        await reserveSpend(tx, attempt);
      }),

    addVariant: (lease, id, variant, replaces, now) =>
      leased.write(lease, async (tx) => {
        await moveAttempts(tx, lease, [id], 'replace', now);
        const newest = await newestVariant(tx, id);
        requireDearer(variant, newest, replaces);
        await addVariant(tx, id, { ...variant, seq: newest.seq + 1, isAdopted: false }, now);
      }),

    adoptVariant: (lease, id, variant, now) =>
      leased.write(lease, async (tx) => {
        if (await hasVariant(tx, id, variant.txHash)) return;
        await moveAttempts(tx, lease, [id], 'replace', now);
        const { seq } = await newestVariant(tx, id);
        await addVariant(tx, id, { ...variant, seq: seq + 1, isAdopted: true }, now);
      }),

    recordBroadcast: (lease, id, now) =>
      leased.write(lease, (tx) => moveAttempts(tx, lease, [id], 'broadcast', now)),

    recordInclusion: (lease, id, mined, now) =>
      leased.write(lease, async (tx) => {
        if (!(await hasVariant(tx, id, mined.txHash))) {
          throw new Error('The mined transaction is not a variant of the attempt');
        }
        // The position first: the schema allows no mined state without one.
        await setPlace(tx, id, mined, now);
        await moveAttempts(tx, lease, [id], 'include', now);
      }),

    listOpenAttempts: (lease) => leased.read(lease, (tx) => openAttempts(tx, senderOf(lease))),

    readReservedSpend: (now) => read((tx) => reservedSince(tx, now - HOUR_MS)),

    listOpenSenders: () =>
      all<SenderKey>(sql`
        SELECT chain_id AS "chainId", sender AS address FROM attempts WHERE ${IS_OPEN}
        UNION SELECT chain_id, sender FROM attempts WHERE state = 'included'
        UNION SELECT chain_id, sender FROM assignments`),
  } satisfies Partial<AnchorStore>;
}

/**
 * Moves attempts of the lease's sender to their next states. Throws, and so undoes the write, if a move is invalid.
 * Call it inside a leased write.
 */
export async function moveAttempts(
  tx: Tx,
  { chainId, sender }: Lease,
  ids: readonly string[],
  event: AttemptEvent,
  now: number,
): Promise<void> {
  if (ids.length === 0) return;
  // Without a condition on the sender: SQLite would search by it, and read all attempts of the sender.
  const found = await tx.all<AttemptRow>(sql`
    SELECT id, chain_id AS "chainId", sender, state FROM attempts WHERE id ${among('uuid', ids)}
    ORDER BY id ${onPostgres(sql`FOR NO KEY UPDATE`)}`);
  const own = found.filter((one) => one.chainId === chainId && one.sender === sender);
  if (own.length !== ids.length) throw new Error('The attempt does not belong to this sender');
  for (const { id, state: from } of own) {
    const state = moveAttempt(from, event);
    if (state === from) continue;
    await tx.run(sql`UPDATE attempts SET state = ${state}, updated_at = ${now} WHERE id = ${id}`);
  }
}

/** Reads attempts that are signed, submitted, reorged, or mined with unsettled leaves; lowest nonce first. */
export async function openAttempts(tx: Tx, sender: SenderKey): Promise<OpenAttempt[]> {
  const open = await tx.all<Omit<OpenAttempt, 'variants'>>(sql`
    SELECT id, nonce, state, payload, unsettled_leaves AS "unsettledLeaves",
      mined_tx_hash AS "minedTxHash", created_at AS "createdAt",
      (SELECT f.tx_hash FROM foreign_nonces f WHERE f.chain_id = attempts.chain_id
        AND f.sender = attempts.sender AND f.nonce = attempts.nonce) AS "takenBy"
    FROM attempts WHERE ${isOf(sender)} AND ${IS_OPEN} ORDER BY nonce`);
  if (open.length === 0) return [];
  const ids = open.map(({ id }) => id);
  const variants = await tx.all<VariantRow & { attempt_id: string }>(sql`
    SELECT attempt_id, ${VARIANT_COLUMNS} FROM variants
    WHERE attempt_id ${among('uuid', ids)} ORDER BY seq`);
  return open.map((attempt) => ({
    ...attempt,
    variants: variants.filter(({ attempt_id }) => attempt_id === attempt.id).map(toVariant),
  }));
}

/**
 * The nonce after the highest one that is committed or known to be used by a foreign transaction; `null` if there is
 * none.
 */
export async function nextNonce(tx: Tx, sender: SenderKey): Promise<number | null> {
  const { own, foreign } = await tx.one<Record<'own' | 'foreign', number | null>>(sql`SELECT
    (SELECT max(nonce) FROM attempts WHERE ${isOf(sender)}) AS own,
    (SELECT max(nonce) FROM foreign_nonces WHERE ${isOf(sender)}) AS "foreign"`);
  const highest = Math.max(own ?? -1, foreign ?? -1);
  return highest < 0 ? null : highest + 1;
}

function senderOf({ chainId, sender }: Lease): SenderKey {
  return { chainId, address: sender };
}

function isOf({ chainId, address }: SenderKey): Sql {
  return sql`chain_id = ${chainId} AND sender = ${address}`;
}

async function takeNonce(tx: Tx, lease: Lease, attempt: NewAttempt): Promise<void> {
  const { id, nonce, payload, root, leaves, freeLeaves, now } = attempt;
  const { chainId, sender } = lease;
  const next = await nextNonce(tx, senderOf(lease));
  const isNext = next === null || next === nonce;
  if (isNext) {
    // Not with RETURNING, for which SQLite scans all receipts.
    const inserted = await tx.run(sql`
      INSERT INTO attempts (id, chain_id, sender, nonce, state, payload, root,
        leaf_count, free_leaf_count, unsettled_leaves, created_at, updated_at)
      VALUES (${id}, ${chainId}, ${sender}, ${nonce}, 'signed', ${payload}, ${root},
        ${leaves.length}, ${freeLeaves.length}, ${leaves.length}, ${now}, ${now})
      ON CONFLICT (chain_id, sender, nonce) DO NOTHING`);
    // If the insert finds the nonce taken, another commit under the same lease was first.
    if (inserted > 0) return;
  }
  throw new SvcError(
    'nonce_conflict',
    `Nonce ${nonce} does not follow the last committed one${isNext ? '' : `; ${next} does`}.`,
  );
}

async function addVariant(
  tx: Tx,
  attemptId: string,
  variant: Variant & { seq: number; isAdopted: boolean },
  now: number,
): Promise<void> {
  const { seq, txHash, rawTx, maxFeePerGas, maxPriorityFeePerGas, isAdopted } = variant;
  await tx.run(sql`INSERT INTO variants (attempt_id, seq, tx_hash, raw_tx, max_fee_per_gas,
      max_priority_fee_per_gas, created_at, adopted)
    VALUES (${attemptId}, ${seq}, ${txHash}, ${rawTx}, ${String(maxFeePerGas)},
      ${String(maxPriorityFeePerGas)}, ${now}, ${Number(isAdopted)} = 1)`);
}

async function hasVariant(tx: Tx, attemptId: string, txHash: Hex): Promise<boolean> {
  const found = await tx.get(sql`SELECT tx_hash FROM variants
    WHERE tx_hash = ${txHash} AND attempt_id = ${attemptId}`);
  return found !== null;
}

async function newestVariant(tx: Tx, attemptId: string): Promise<Variant & { seq: number }> {
  const row = await tx.one<VariantRow & { seq: number }>(sql`SELECT seq, ${VARIANT_COLUMNS}
    FROM variants WHERE attempt_id = ${attemptId} ORDER BY seq DESC LIMIT 1`);
  return { ...toVariant(row), seq: row.seq };
}

function toVariant(row: VariantRow): Variant {
  const { txHash, rawTx, maxFeePerGas, maxPriorityFeePerGas: tip } = row;
  return { txHash, rawTx, maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(tip) };
}

/** @throws Error unless `replaces` names the newest variant and both fees of `variant` are higher. */
function requireDearer(variant: Variant, newest: Variant, replaces: Hex): void {
  const isDearer =
    variant.maxFeePerGas > newest.maxFeePerGas &&
    variant.maxPriorityFeePerGas > newest.maxPriorityFeePerGas;
  if (newest.txHash === replaces && isDearer) return;
  throw new Error('A variant must replace the newest one and have higher fees');
}

async function setPlace(tx: Tx, id: string, mined: MinedVariant, now: number): Promise<void> {
  const { txHash, blockNumber, blockHash, txIndex, blockTimestamp } = mined;
  await tx.run(sql`UPDATE attempts SET updated_at = ${now}, safe = false,
      mined_tx_hash = ${txHash}, mined_block_number = ${Number(blockNumber)},
      mined_block_hash = ${blockHash}, mined_tx_index = ${txIndex}, mined_at = ${blockTimestamp},
      gas_used = ${String(mined.gasUsed)}, effective_gas_price = ${String(mined.effectiveGasPrice)},
      data_fee_wei = ${String(mined.dataFeeWei)},
      cost_wei = coalesce(cost_wei, ${String(transactionCost(mined))})
    WHERE id = ${id}`);
}

/** Reserves what the attempt may cost, for the cap on an hour's spend. Throws `spend_cap`, which undoes the commit. */
async function reserveSpend(tx: Tx, { id, spend, now }: NewAttempt): Promise<void> {
  if (spend === null) return;
  // One reservation at a time, among all instances and accounts.
  await tx.run(sql`UPDATE queue_round SET round = round WHERE id = 1`);
  await tx.run(sql`DELETE FROM anchor_spend WHERE at <= ${now - HOUR_MS}`);
  if ((await reservedSince(tx, now - HOUR_MS)) + spend.maxCostWei > spend.capWei) {
    throw new SvcError('spend_cap', 'The anchors of the last hour may cost as much as is allowed.');
  }
  await tx.run(sql`INSERT INTO anchor_spend (attempt_id, at, wei)
    VALUES (${id}, ${now}, ${String(spend.maxCostWei)})`);
}

async function reservedSince(tx: Tx, at: number): Promise<bigint> {
  const reserved = await tx.all<{ wei: string }>(
    sql`SELECT wei FROM anchor_spend WHERE at > ${at}`,
  );
  return reserved.reduce((sum, { wei }) => sum + BigInt(wei), 0n);
}
