// Stores anchor attempts: signing, fee bumps, broadcast and inclusion (steps 3 to 5 of anchoring).

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
import type { SenderKey } from '../../ports/operations.ts';
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
import type { Queries } from './engine/connections.ts';
import { sql } from './engine/sql.ts';
import { runSteps } from './engine/steps.ts';
import type { Access } from './engine/transactions.ts';
import { leasedAccess } from './leases.ts';

const openAttempts = sql(`SELECT ${OPEN_ATTEMPT_COLUMNS}, chain_id AS "chainId", sender AS address,
    f.tx_hash AS "takenBy"
  FROM attempts LEFT JOIN foreign_nonces f USING (chain_id, sender, nonce)
  WHERE (chain_id, sender) IN (SELECT * FROM unnest($1::bigint[], $2::text[])) AND ${IS_OPEN}
  ORDER BY nonce`);
const variantsOf = sql(`SELECT attempt_id, ${VARIANT_COLUMNS} FROM variants
  WHERE attempt_id = ANY($1::uuid[]) ORDER BY seq`);

const highestNonce = sql(`SELECT greatest(
  (SELECT max(nonce) FROM attempts WHERE chain_id = $1 AND sender = $2),
  (SELECT max(nonce) FROM foreign_nonces WHERE chain_id = $1 AND sender = $2)) AS nonce`);
const insertAttempt = sql(`INSERT INTO attempts (id, chain_id, sender, nonce, state, payload, root,
    leaf_count, unsettled_leaves, created_at, updated_at)
  VALUES ($1, $2, $3, $4, 'signed', $5, $6, $7, $7, $8, $8)
  ON CONFLICT (chain_id, sender, nonce) DO NOTHING`);
const sign = completionMove('sign');
// In the given order, which the Merkle tree has. The paths follow from it; the settlement stores them.
const submitLeaves = sql(`WITH
  given AS (
    SELECT * FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS g (task_id, leaf, place)
  ),
  queued AS (
    SELECT c.task_id, c.leaf, c.generation, g.place FROM completions c JOIN given g USING (task_id)
    WHERE c.leaf = g.leaf AND c.state IN ${sign.from} ORDER BY c.task_id FOR NO KEY UPDATE OF c
  ),
  submitted AS (
    UPDATE completions c SET state = ${sign.to}, updated_at = $4
    FROM queued q WHERE c.task_id = q.task_id
  )
  INSERT INTO leaves (attempt_id, leaf_index, task_id, leaf, path, generation)
  SELECT $1, place - 1, task_id, leaf, '', generation FROM queued`);
const advanceRound = sql(`UPDATE queue_round q SET round = signed.round
  FROM (SELECT max(round) AS round FROM completions WHERE task_id = ANY($1::uuid[])) AS signed
  WHERE q.id = 1 AND q.round < signed.round`);
const insertVariant = sql(`INSERT INTO variants (attempt_id, seq, tx_hash, raw_tx, max_fee_per_gas,
    max_priority_fee_per_gas, created_at, adopted)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`);
const newestVariant = sql(`SELECT seq, ${VARIANT_COLUMNS} FROM variants
  WHERE attempt_id = $1 ORDER BY seq DESC LIMIT 1`);
const findVariant = sql('SELECT FROM variants WHERE tx_hash = $1 AND attempt_id = $2');
const include = sql(`UPDATE attempts SET state = $2, updated_at = $3, safe = false,
    mined_tx_hash = $4, mined_block_number = $5, mined_block_hash = $6, mined_tx_index = $7,
    mined_at = $8, gas_used = $9, effective_gas_price = $10, data_fee_wei = $11,
    cost_wei = coalesce(cost_wei, $12)
  WHERE id = $1`);
const lock = sql(`SELECT id, state FROM attempts
  WHERE id = ANY($1::uuid[]) AND chain_id = $2 AND sender = $3 ORDER BY id FOR NO KEY UPDATE`);
const set = sql(`UPDATE attempts a SET state = m.state, updated_at = $3
  FROM unnest($1::uuid[], $2::text[]) AS m (id, state) WHERE a.id = m.id`);

const openSenders = sql(`SELECT chain_id, sender FROM attempts WHERE ${IS_OPEN}
  UNION SELECT chain_id, sender FROM attempts WHERE state = 'included'`);

export function attemptStore(
  access: Access,
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
  const { write, read } = leasedAccess(access);

  return {
    getNextNonce: (lease) => read(lease, (tx) => readNextNonce(tx, senderOf(lease))),

    commitAttempt: (lease, attempt) =>
      write(lease, async (tx) => {
        await takeNonce(tx, lease, attempt);
        await saveVariant(tx, { attemptId: attempt.id, seq: 0 }, attempt.variant, attempt.now);
        await moveLeaves(tx, attempt);
        await runSteps(tx, reserveSpend(attempt));
      }),

    addVariant: (lease, attemptId, variant, replaces, now) =>
      write(lease, async (tx) => {
        await moveAttempts(tx, lease, [attemptId], 'replace', now);
        const newest = await readNewestVariant(tx, attemptId);
        requireDearer(variant, newest, replaces);
        await saveVariant(tx, { attemptId, seq: newest.seq + 1 }, variant, now);
      }),

    adoptVariant: (lease, attemptId, variant, now) =>
      write(lease, async (tx) => {
        if (await isVariantOf(tx, attemptId, variant.txHash)) return;
        await moveAttempts(tx, lease, [attemptId], 'replace', now);
        const { seq } = await readNewestVariant(tx, attemptId);
        await saveVariant(tx, { attemptId, seq: seq + 1, adopted: true }, variant, now);
      }),

    recordBroadcast: (lease, attemptId, now) =>
      write(lease, (tx) => moveAttempts(tx, lease, [attemptId], 'broadcast', now)),

    recordInclusion: (lease, attemptId, mined, now) =>
      write(lease, async (tx) => {
        const [next] = await nextStates(tx, lease, [attemptId], 'include');
        if (next === undefined || !(await isVariantOf(tx, attemptId, mined.txHash))) {
          throw new Error('The mined transaction is not a variant of the attempt');
        }
        await tx.run(include, [
          attemptId,
          next.state,
          now,
          mined.txHash,
          mined.blockNumber,
          mined.blockHash,
          mined.txIndex,
          mined.blockTimestamp,
          mined.gasUsed,
          mined.effectiveGasPrice,
          mined.dataFeeWei,
          transactionCost(mined),
        ]);
      }),

    listOpenAttempts: (lease) =>
      read(lease, async (tx) => {
        const open = await readOpenAttempts(tx, [senderOf(lease)]);
        return open.map(({ attempt }) => attempt);
      }),

    async listOpenSenders() {
      const rows = await access.rows<{ chain_id: number; sender: string }>(openSenders);
      return rows.map(({ chain_id: chainId, sender: address }) => ({ chainId, address }));
    },
  };
}

/** Moves attempts of the lease's sender to their next states. Throws, and so undoes the write, if a move is invalid. */
export async function moveAttempts(
  tx: Queries,
  lease: Lease,
  ids: readonly string[],
  event: AttemptEvent,
  now: number,
): Promise<void> {
  if (ids.length === 0) return;
  const moved = (await nextStates(tx, lease, ids, event)).filter(({ isNew }) => isNew);
  if (moved.length === 0) return;
  await tx.run(set, [moved.map(({ id }) => id), moved.map(({ state }) => state), now]);
}

/** Reads the open attempts of the senders, as `listOpenAttempts` does; lowest nonce first. */
export async function readOpenAttempts(
  tx: Queries,
  senders: readonly SenderKey[],
): Promise<(SenderKey & { attempt: OpenAttempt })[]> {
  const rows = await tx.rows<SenderKey & Omit<OpenAttempt, 'variants'>>(openAttempts, [
    senders.map(({ chainId }) => chainId),
    senders.map(({ address }) => address),
  ]);
  const variants = new Map(rows.map(({ id }): [string, Variant[]] => [id, []]));
  for (const row of await tx.rows<VariantRow & { attempt_id: string }>(variantsOf, [
    [...variants.keys()],
  ])) {
    variants.get(row.attempt_id)?.push(toVariant(row));
  }
  return rows.map(({ chainId, address, ...attempt }) => ({
    chainId,
    address,
    attempt: { ...attempt, variants: variants.get(attempt.id) ?? [] },
  }));
}

/** The nonce after the highest one that is committed or known to be used elsewhere; `null` if there is none. */
export async function readNextNonce(
  queries: Queries,
  { chainId, address }: SenderKey,
): Promise<number | null> {
  const row = await queries.first<{ nonce: number | null }>(highestNonce, [chainId, address]);
  return row === undefined || row.nonce === null ? null : row.nonce + 1;
}

function senderOf({ chainId, sender }: Lease): SenderKey {
  return { chainId, address: sender };
}

async function takeNonce(tx: Queries, lease: Lease, attempt: NewAttempt): Promise<void> {
  const { chainId, sender } = lease;
  const { id, nonce, payload, root, leaves, now } = attempt;
  const next = await readNextNonce(tx, senderOf(lease));
  const isNext = next === null || next === nonce;
  const values = [id, chainId, sender, nonce, payload, root, leaves.length, now];
  // If the insert finds the nonce taken, another commit under the same lease was first.
  if (isNext && (await tx.run(insertAttempt, values)) === 1) return;
  throw new SvcError(
    'nonce_conflict',
    `Nonce ${nonce} does not follow the last committed one${isNext ? '' : `; ${next} does`}.`,
  );
}

/** Moves the queued completions into the attempt, and advances the round. @throws SvcError `not_queued` */
async function moveLeaves(tx: Queries, { id, leaves, now }: NewAttempt): Promise<void> {
  const taskIds = leaves.map(({ taskId }) => taskId);
  const moved = await tx.run(submitLeaves, [id, taskIds, leaves.map(({ leaf }) => leaf), now]);
  if (moved !== leaves.length) throw new SvcError('not_queued', 'A proof is no longer queued.');
  await tx.run(advanceRound, [taskIds]);
}

async function saveVariant(
  tx: Queries,
  { attemptId, seq, adopted = false }: { attemptId: string; seq: number; adopted?: boolean },
  { txHash, rawTx, maxFeePerGas, maxPriorityFeePerGas }: Variant,
  now: number,
): Promise<void> {
  const fees = [maxFeePerGas, maxPriorityFeePerGas];
  await tx.run(insertVariant, [attemptId, seq, txHash, rawTx, ...fees, now, adopted]);
}

async function isVariantOf(tx: Queries, attemptId: string, txHash: Hex): Promise<boolean> {
  return (await tx.first(findVariant, [txHash, attemptId])) !== undefined;
}

async function readNewestVariant(
  tx: Queries,
  attemptId: string,
): Promise<Variant & { seq: number }> {
  const row = await tx.first<VariantRow & { seq: number }>(newestVariant, [attemptId]);
  if (row === undefined) throw new Error(`Attempt ${attemptId} has no variant`);
  return { ...toVariant(row), seq: row.seq };
}

interface Moved {
  id: string;
  state: AttemptState;
}

/**
 * Locks attempts of the lease's sender and returns their next states. Throws if a move is not allowed. Call it inside a
 * leased write.
 */
async function nextStates(
  tx: Queries,
  { chainId, sender }: Lease,
  ids: readonly string[],
  event: AttemptEvent,
): Promise<(Moved & { isNew: boolean })[]> {
  const rows = await tx.rows<Moved>(lock, [ids, chainId, sender]);
  if (rows.length !== ids.length) throw new Error('The attempt does not belong to this sender');
  return rows.map(({ id, state: from }) => {
    const state = moveAttempt(from, event);
    return { id, state, isNew: state !== from };
  });
}
