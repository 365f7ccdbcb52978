// Inclusion paths: computed from the leaves of an attempt, and stored as the bytes of their hashes.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { runYielding } from '../../../base/async/cooperative-yield.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { growMerkleTree } from '../../../proof/tree.ts';
import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

const HASH_BYTES = 32;

export function pathBytes(path: readonly Hex[]): Buffer {
  return Buffer.from(path.map((hash) => hash.slice(2)).join(''), 'hex');
}

export function readPath(bytes: Buffer): Hex[] {
  const hashes: Hex[] = [];
  for (let at = 0; at < bytes.length; at += HASH_BYTES) {
    hashes.push(`0x${bytes.toString('hex', at, at + HASH_BYTES)}`);
  }
  return hashes;
}

/** Leaves read in one turn of the event loop. */
const PAGE = 4096;

/** All leaves of an attempt in the order of the tree. */
export async function leavesOf(all: Db['all'], attemptId: string): Promise<Hex[]> {
  const leaves: Hex[] = [];
  for (;;) {
    const from = leaves.length;
    const isOnPage = sql`attempt_id = ${attemptId} AND leaf_index >= ${from}
      AND leaf_index < ${from + PAGE}`;
    const page = await all<{ leaf: Hex }>(sql`SELECT leaf_index, leaf FROM leaves WHERE ${isOnPage}
      UNION ALL SELECT leaf_index, leaf FROM free_leaves WHERE ${isOnPage} ORDER BY leaf_index`);
    for (const { leaf } of page) leaves.push(leaf);
    if (page.length < PAGE) return leaves;
    await nextTurn();
  }
}

/** The inclusion path of a leaf by its index in the attempt. */
export type PathOf = (leafIndex: number) => Hex[];

/** Attempts that are settled at the same time; more come from attempts that never finish here, and are forgotten. */
const KEPT_TREES = 4;

/**
 * Computes the inclusion paths of attempts from their leaves, and keeps them until `forget`. The paths are stored at
 * settlement, not before the broadcast: they are five times the bytes of the rest and would make those commits long.
 */
export function inclusionPaths(all: Db['all']) {
  const known = new Map<string, PathOf>();
  return {
    async of(attemptId: string): Promise<PathOf> {
      const before = known.get(attemptId);
      if (before !== undefined) return before;
      const leaves = await leavesOf(all, attemptId);
      if (leaves.length < 2) return () => [];
      const { path } = await runYielding(growMerkleTree(leaves));
      known.set(attemptId, path);
      const [oldest] = known.keys();
      if (known.size > KEPT_TREES && oldest !== undefined) known.delete(oldest);
      return path;
    },
    forget(attemptId: string): void {
      known.delete(attemptId);
    },
  };
}
