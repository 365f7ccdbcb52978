// Stores operations: the backlog, holds after a restore, and nonces used outside of this database.

import { SvcError } from '../../../base/svc-error.ts';
import type { OperationsStore, SenderKey } from '../../ports/operations.ts';
import { type BacklogRow, READ_BACKLOG, toBacklog } from '../rows/anchoring.ts';
import { nonceDetail } from '../rows/audit-log.ts';
import { readNextNonce, readOpenAttempts } from './anchor-attempts.ts';
import { recordAudit } from './audit-log.ts';
import { type SqlValue, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';
import { holdQueue, liftHold, takeLeases } from './leases.ts';

const backlog = sql(READ_BACKLOG);
const listSenders = sql(`SELECT chain_id, address, greatest(
    (SELECT max(nonce) FROM attempts a WHERE a.chain_id = l.chain_id AND a.sender = l.address),
    (SELECT max(nonce) FROM foreign_nonces f WHERE f.chain_id = l.chain_id AND f.sender = l.address)
  ) + 1 AS next_nonce
  FROM leases l ORDER BY chain_id, address`);
const addForeign = sql(`INSERT INTO foreign_nonces
  SELECT $1, $2, nonce, tx_hash, $5 FROM unnest($3::bigint[], $4::text[]) AS u (nonce, tx_hash)`);
const addTaken = sql(`INSERT INTO foreign_nonces
  SELECT a.chain_id, a.sender, a.nonce, u.tx_hash, $5
  FROM unnest($3::bigint[], $4::text[]) AS u (nonce, tx_hash)
  JOIN attempts a ON a.chain_id = $1 AND a.sender = $2 AND a.nonce = u.nonce
  WHERE a.state IN ('signed', 'submitted', 'reorged')
  ON CONFLICT (chain_id, sender, nonce)
    DO UPDATE SET tx_hash = excluded.tx_hash, recorded_at = excluded.recorded_at
  RETURNING nonce`);

const walletsIn = sql(`SELECT DISTINCT t.wallet FROM attempts a
  JOIN leaves l ON l.attempt_id = a.id AND l.live
  JOIN tasks t ON t.id = l.task_id
  WHERE a.chain_id = $1 AND a.sender = $2 AND a.nonce = $3`);

interface SenderRow {
  chain_id: number;
  address: string;
  next_nonce: number | null;
}

export function operationsStore(access: Access): OperationsStore {
  return {
    /** Always true: the disk is the database server's. When it is full, every write is refused. */
    hasRoom: async () => true,

    readBacklog: async () => toBacklog(await access.first<BacklogRow>(backlog)),

    holdQueue: (now) => access.write((tx) => holdQueue(tx, now)),

    liftHold: (senders, now) => access.write((tx) => liftHold(tx, senders, now)),

    recordForeignNonces: (sender, uses, now) =>
      access.write(async (tx) => {
        await tx.run(takeLeases);
        const next = await readNextNonce(tx, sender);
        const unexpected = uses.find(({ nonce }, i) => next === null || nonce !== next + i);
        if (unexpected !== undefined) {
          const message = `Nonce ${unexpected.nonce} does not follow the known ones.`;
          throw new SvcError('nonce_conflict', message);
        }
        await tx.run(addForeign, usesOf(sender, uses, now));
      }),

    recordTakenNonces: (sender, uses, now, by) =>
      access.write(async (tx) => {
        await tx.run(takeLeases);
        const rows = await tx.rows<{ nonce: number }>(addTaken, usesOf(sender, uses, now));
        const taken = new Set(rows.map(({ nonce }) => nonce));
        const unexpected = uses.find(({ nonce }) => !taken.has(nonce));
        if (unexpected !== undefined) {
          const message = `Nonce ${unexpected.nonce} has no unmined attempt.`;
          throw new SvcError('nonce_conflict', message);
        }
        const { chainId, address } = sender;
        for (const { nonce, txHash } of uses) {
          const detail = nonceDetail(address, nonce, txHash);
          const rows = await tx.rows<{ wallet: string }>(walletsIn, [chainId, address, nonce]);
          for (const { wallet } of rows) {
            await recordAudit(tx, wallet, 'anchor_reconciled', by, { detail });
          }
        }
      }),

    listSenders: () =>
      access.read(async (tx) => {
        const rows = await tx.rows<SenderRow>(listSenders);
        const senders = rows.map(({ chain_id: chainId, address, next_nonce: nextNonce }) => ({
          chainId,
          address,
          nextNonce,
        }));
        const open = await readOpenAttempts(tx, senders);
        return senders.map((sender) => ({
          ...sender,
          openAttempts: open.filter((one) => isSame(one, sender)).map(({ attempt }) => attempt),
        }));
      }),
  };
}

function isSame(one: SenderKey, other: SenderKey): boolean {
  return one.chainId === other.chainId && one.address === other.address;
}

function usesOf(
  { chainId, address }: SenderKey,
  uses: Parameters<OperationsStore['recordForeignNonces']>[1],
  now: number,
): SqlValue[] {
  const nonces = uses.map(({ nonce }) => nonce);
  return [chainId, address, nonces, uses.map(({ txHash }) => txHash), now];
}
