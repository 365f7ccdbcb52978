// Stores the inclusion of attempts: safe, final or reorganized out (step 7 of anchoring).

import type { AnchorStore, IncludedAttempt, Lease, MinedAttempt } from '../../ports/anchoring.ts';
import type { Db, Tx } from '../db/database.ts';
import { among } from '../db/dialect.ts';
import { raw, type Sql, sql } from '../db/sql.ts';
import { moveAttempts, nextNonce } from './anchor-attempts.ts';
import { dropChainProofs, expectChainProofs } from './chain-proofs.ts';

interface IncludedRow extends Omit<IncludedAttempt, 'blockNumber' | 'isSafe'> {
  blockNumber: number;
  isSafe: boolean | 0 | 1;
}

interface MinedRow extends IncludedRow, Pick<MinedAttempt, 'rawTx'> {
  isFinal: boolean | 0 | 1;
}

/** The columns of an `IncludedRow`, from the attempt `a`. */
const INCLUDED_COLUMNS = raw(`a.id, a.mined_tx_hash AS "txHash",
  a.mined_block_number AS "blockNumber", a.mined_block_hash AS "blockHash", a.safe AS "isSafe"`);

const LOWEST_FIRST = raw('ORDER BY mined_block_number, id');
const HIGHEST_FIRST = raw('ORDER BY mined_block_number DESC, id DESC');

export function inclusionStore({ leased: { read, write } }: Db) {
  return {
    listIncludedAttempts: (lease, limit) =>
      read(lease, async (tx) => {
        const lowest = await included(tx, lease, sql`${LOWEST_FIRST} LIMIT ${limit}`);
        const highest = await included(tx, lease, sql`${HIGHEST_FIRST} LIMIT ${limit}`);
        const found = [...lowest, ...highest.reverse()];
        return [...new Map(found.map((attempt) => [attempt.id, attempt])).values()];
      }),

    listIncludedBelow: (lease, { blockNumber, id }, limit) => {
      const isBelow = sql`AND (mined_block_number, id) < (${Number(blockNumber)}, ${id})`;
      const next = sql`${isBelow} ${HIGHEST_FIRST} LIMIT ${limit}`;
      return read(lease, (tx) => included(tx, lease, next));
    },

    listMinedFrom: (lease, fromNonce, limit) =>
      read(lease, async (tx) => {
        const mined = await tx.all<MinedRow>(sql`SELECT ${INCLUDED_COLUMNS},
            a.state = 'finalized' AS "isFinal", v.raw_tx AS "rawTx"
          FROM attempts a JOIN variants v ON v.tx_hash = a.mined_tx_hash
          WHERE a.chain_id = ${lease.chainId} AND a.sender = ${lease.sender}
            AND a.nonce >= ${fromNonce} AND a.state IN ('included', 'finalized')
          ORDER BY a.nonce LIMIT ${limit}`);
        return mined.map((row) => ({ ...toIncluded(row), isFinal: Boolean(row.isFinal) }));
      }),

    isUsedElsewhere: (lease, nonce) =>
      read(lease, async (tx) => {
        const { chainId, sender } = lease;
        const next = await nextNonce(tx, { chainId, address: sender });
        if (next === null || nonce >= next) return false;
        const own = await tx.get(sql`SELECT id FROM attempts WHERE chain_id = ${chainId}
          AND sender = ${sender} AND nonce = ${nonce} AND state <> 'dead'`);
        return own === null;
      }),

    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      write(lease, async (tx) => {
        await moveAttempts(tx, lease, safe, 'become_safe', now);
        await moveAttempts(tx, lease, finalized, 'finalize', now);
        await moveAttempts(tx, lease, reorged, 'reorganize', now);
        await expectChainProofs(tx, finalized, now);
        await dropChainProofs(tx, reorged);
        await setSafe(tx, safe, true, now);
        await setSafe(tx, reorged, false, now);
      }),
  } satisfies Partial<AnchorStore>;
}

/** Reads included attempts of the sender. `which` ends the statement: further conditions, order and limit. */
async function included(tx: Tx, { chainId, sender }: Lease, which: Sql) {
  const found = await tx.all<IncludedRow>(sql`SELECT ${INCLUDED_COLUMNS} FROM attempts a
    WHERE chain_id = ${chainId} AND sender = ${sender} AND state = 'included' ${which}`);
  return found.map(toIncluded);
}

function toIncluded<Row extends IncludedRow>({ blockNumber, isSafe, ...row }: Row) {
  return { ...row, blockNumber: BigInt(blockNumber), isSafe: Boolean(isSafe) };
}

async function setSafe(tx: Tx, ids: readonly string[], isSafe: boolean, now: number) {
  await tx.run(sql`UPDATE attempts SET safe = (${Number(isSafe)} = 1), updated_at = ${now}
    WHERE id ${among('uuid', ids)}`);
}
