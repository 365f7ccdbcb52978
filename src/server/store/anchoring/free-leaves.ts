// Reads the anchors of leaves, and stores free leaves: they date a statement or a key text in unused places of a
// transaction.

import type { Hex } from '../../../proof/bytes.ts';
import { type FreeLeafKind, freeLeafHash } from '../../../proof/leaf.ts';
import type { AnchorStore } from '../../ports/anchoring.ts';
import type { EvidenceStore, LeafAnchorRecord } from '../../ports/evidence.ts';
import type { Db, Tx } from '../db/database.ts';
import { among, elements } from '../db/dialect.ts';
import { raw, sql } from '../db/sql.ts';
import { type ChainProofRow, toChainProof } from './chain-proofs.ts';
import { leavesOf } from './paths.ts';

/** The condition of the index `free_leaves_waiting`. */
const WAITS = raw('attempt_id IS NULL');

type LeafAnchorRow = Omit<LeafAnchorRecord, 'leaves' | 'chainProof' | 'blockNumber'> &
  ChainProofRow & { attemptId: string; blockNumber: number; leafCount: number };

export function freeLeafStore({ all, get, leased }: Db) {
  return {
    listFreeLeaves: (lease, limit) =>
      leased.read(lease, async (tx) => {
        const waiting = await tx.all<{ leaf: Hex }>(sql`SELECT leaf FROM free_leaves
          WHERE ${WAITS} AND rank >= 0
          ORDER BY rank, created_at, leaf LIMIT ${limit}`);
        return waiting.map(({ leaf }) => leaf);
      }),

    async getLeafAnchor(leaf, taskId) {
      const row = await get<LeafAnchorRow>(sql`SELECT f.leaf_index AS "leafIndex",
          a.leaf_count + a.free_leaf_count AS "leafCount", a.chain_id AS "chainId",
          a.id AS "attemptId", a.mined_tx_hash AS "txHash", a.mined_block_number AS "blockNumber",
          a.mined_block_hash AS "blockHash", a.mined_tx_index AS "txIndex", a.sender AS "from",
          a.mined_at AS "anchoredAt", v.raw_tx AS "rawTx", p.header, p.nodes
        FROM (SELECT attempt_id, leaf_index FROM free_leaves WHERE leaf = ${leaf} UNION ALL
            SELECT attempt_id, leaf_index FROM leaves
            WHERE task_id = ${taskId} AND leaf = ${leaf} AND live) AS f
          JOIN attempts a ON a.id = f.attempt_id
          JOIN variants v ON v.tx_hash = a.mined_tx_hash
          LEFT JOIN chain_proofs p ON p.attempt_id = a.id
        WHERE a.state IN ('included', 'finalized')`);
      if (row === null) return null;
      const { attemptId, header, nodes, blockNumber, leafCount, ...place } = row;
      const leaves = await leavesOf(all, attemptId);
      // The attempt died meanwhile, and some of its leaves were released.
      if (leaves.length !== leafCount) return null;
      const chainProof = toChainProof({ header, nodes });
      return { ...place, blockNumber: BigInt(blockNumber), leaves, chainProof };
    },
  } satisfies Partial<AnchorStore & EvidenceStore>;
}

/** Key texts first: few exist, and the revocation of a stolen key counts from its block. */
const leafRank = { key_text: 0, claim: 1 } as const satisfies Record<FreeLeafKind, number>;

/** Adds a leaf that waits for a place. Does nothing if it exists, or for a claim if the account has no anchor left. */
export async function addFreeLeaf(
  tx: Tx,
  { wallet, kind, hash, now }: { wallet: string; kind: FreeLeafKind; hash: Hex; now: number },
): Promise<void> {
  const rank = leafRank[kind];
  await tx.run(sql`INSERT INTO free_leaves (leaf, rank, created_at)
    SELECT ${freeLeafHash(kind, hash)}, ${rank}, ${now} FROM accounts
    WHERE wallet = ${wallet} AND (anchor_quota > 0 OR ${rank} = 0)
    ON CONFLICT (leaf) DO NOTHING`);
}

/** Removes the waiting leaves of statements that are deleted. */
export async function dropFreeLeaves(tx: Tx, statementHashes: readonly Hex[]): Promise<void> {
  const leaves = statementHashes.map((hash) => freeLeafHash('claim', hash));
  await tx.run(sql`DELETE FROM free_leaves WHERE leaf ${among('text', leaves)} AND ${WAITS}`);
}

/** Puts free leaves at these indexes of the tree. Returns whether all of them still waited. */
export async function placeFreeLeaves(
  tx: Tx,
  attemptId: string,
  from: number,
  freeLeaves: readonly Hex[],
): Promise<boolean> {
  if (freeLeaves.length === 0) return true;
  const given = freeLeaves.map((leaf, i) => [leaf, from + i]);
  const placed = await tx.run(sql`UPDATE free_leaves
    SET attempt_id = ${attemptId}, leaf_index = CAST(g.value ->> 1 AS integer)
    FROM ${elements(given)} AS g WHERE leaf = g.value ->> 0 AND leaf_index IS NULL`);
  return placed === freeLeaves.length;
}

/** Lets free leaves of an attempt that can never be mined wait again. Returns how many. */
export async function releaseFreeLeaves(tx: Tx, attemptId: string, limit: number): Promise<number> {
  return tx.run(sql`UPDATE free_leaves SET attempt_id = NULL, leaf_index = NULL WHERE leaf IN (
    SELECT leaf FROM free_leaves WHERE attempt_id = ${attemptId} LIMIT ${limit})`);
}
