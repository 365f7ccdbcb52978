import type { Hex } from '../../../proof/bytes.ts';
import type { AnchorStore, IncludedAttempt } from '../../core/anchor-store.ts';
import type { Access } from './access.ts';
import { attemptMover } from './anchor-moves.ts';
import type { LeaseGuard } from './leases.ts';

interface IncludedRow {
  id: string;
  nonce: number;
  tx_hash: Hex;
  raw_tx: Hex;
  mined_block_number: number;
  mined_block_hash: Hex;
  safe: 0 | 1;
}

/** Step 7 of anchoring: from the block on until it is final, or another stands in its place. */
export function standingStore(
  { reader, writer, write, read }: Access,
  guard: LeaseGuard,
  readGuard: LeaseGuard,
): Pick<AnchorStore, 'listIncludedAttempts' | 'recordStandings'> {
  const included = (order: 'ASC' | 'DESC') =>
    reader.prepare<[number, string, number], IncludedRow>(
      `SELECT a.id, a.nonce, v.tx_hash, v.raw_tx, a.mined_block_number, a.mined_block_hash, a.safe
       FROM attempts a JOIN variants v ON v.tx_hash = a.mined_tx_hash
       WHERE a.chain_id = ? AND a.sender = ? AND a.state = 'included'
       ORDER BY a.mined_block_number ${order} LIMIT ?`,
    );
  const lowest = included('ASC');
  const highest = included('DESC');
  const move = attemptMover(writer);
  const setSafe = writer.prepare<[0 | 1, number, string]>(
    'UPDATE attempts SET safe = ?, updated_at = ? WHERE id = ?',
  );

  return {
    listIncludedAttempts: (lease, limit) =>
      read(() => {
        readGuard(lease);
        const { chainId, sender } = lease;
        const rows = [
          ...lowest.all(chainId, sender, limit),
          ...highest.all(chainId, sender, limit).reverse(),
        ];
        return [...new Map(rows.map((row) => [row.id, toIncluded(row)])).values()];
      }),

    recordStandings: (lease, { safe, finalized, reorged }, now) =>
      write(() => {
        guard(lease);
        for (const id of safe) {
          move(lease, id, 'become_safe', now);
          setSafe.run(1, now, id);
        }
        for (const id of finalized) move(lease, id, 'finalize', now);
        for (const id of reorged) {
          move(lease, id, 'reorganize', now);
          setSafe.run(0, now, id);
        }
      }),
  };
}

function toIncluded(row: IncludedRow): IncludedAttempt {
  return {
    id: row.id,
    nonce: row.nonce,
    txHash: row.tx_hash,
    rawTx: row.raw_tx,
    blockNumber: BigInt(row.mined_block_number),
    blockHash: row.mined_block_hash,
    isSafe: row.safe === 1,
  };
}
