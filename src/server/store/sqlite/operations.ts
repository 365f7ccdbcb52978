// Stores operations: the backlog, holds after a restore, and nonces used outside of this database.

import { SvcError } from '../../../base/svc-error.ts';
import type { Hex } from '../../../proof/bytes.ts';
import type { OperationsStore } from '../../ports/operations.ts';
import { type BacklogRow, READ_BACKLOG, toBacklog } from '../rows/anchoring.ts';
import { nonceDetail } from '../rows/audit-log.ts';
import { nextNonceReader, openAttemptReader } from './anchor-attempts.ts';
import { auditRecorder } from './audit-log.ts';
import type { Access } from './engine/connections.ts';
import { holdQueue, liftHold } from './leases.ts';

export function operationsStore(
  { reader, writer, write, read }: Access,
  hasRoom: () => Promise<boolean>,
): OperationsStore {
  const backlog = reader.prepare<[], BacklogRow>(READ_BACKLOG);
  const senders = reader.prepare<[], { chain_id: number; address: string }>(
    'SELECT chain_id, address FROM leases ORDER BY chain_id, address',
  );
  const nextNonce = nextNonceReader(reader);
  const openAttempts = openAttemptReader(reader);
  const nextNonceInWrite = nextNonceReader(writer);
  const insertForeign = writer.prepare<[number, string, number, Hex, number]>(
    'INSERT INTO foreign_nonces VALUES (?, ?, ?, ?, ?)',
  );
  const insertTaken = writer.prepare<[Hex, number, number, string, number]>(
    `INSERT INTO foreign_nonces SELECT chain_id, sender, nonce, ?, ? FROM attempts
     WHERE chain_id = ? AND sender = ? AND nonce = ? AND state IN ('signed', 'submitted', 'reorged')
     ON CONFLICT DO UPDATE SET tx_hash = excluded.tx_hash, recorded_at = excluded.recorded_at`,
  );

  const record = auditRecorder(writer);
  const walletsIn = writer.prepare<[number, string, number], { wallet: string }>(
    `SELECT DISTINCT t.wallet FROM attempts a JOIN leaves l ON l.attempt_id = a.id
     JOIN tasks t ON t.id = l.task_id
     WHERE a.chain_id = ? AND a.sender = ? AND a.nonce = ? AND l.live`,
  );

  return {
    hasRoom,

    readBacklog: () => read(() => toBacklog(backlog.get())),

    holdQueue: (now) => write(() => holdQueue(writer, now)),

    liftHold: (senders, now) => write(() => liftHold(writer, senders, now)),

    recordForeignNonces: ({ chainId, address }, uses, now) =>
      write(() => {
        for (const { nonce, txHash } of uses) {
          if (nextNonceInWrite({ chainId, sender: address }) !== nonce) {
            throw new SvcError('nonce_conflict', `Nonce ${nonce} does not follow the known ones.`);
          }
          insertForeign.run(chainId, address, nonce, txHash, now);
        }
      }),

    recordTakenNonces: ({ chainId, address }, uses, now, by) =>
      write(() => {
        for (const { nonce, txHash } of uses) {
          if (insertTaken.run(txHash, now, chainId, address, nonce).changes !== 1) {
            throw new SvcError('nonce_conflict', `Nonce ${nonce} has no unmined attempt.`);
          }
          for (const { wallet } of walletsIn.all(chainId, address, nonce)) {
            record(wallet, 'anchor_reconciled', by, {
              detail: nonceDetail(address, nonce, txHash),
            });
          }
        }
      }),

    listSenders: () =>
      read(() =>
        senders.all().map(({ chain_id: chainId, address }) => ({
          chainId,
          address,
          nextNonce: nextNonce({ chainId, sender: address }),
          openAttempts: openAttempts({ chainId, sender: address }),
        })),
      ),
  };
}
