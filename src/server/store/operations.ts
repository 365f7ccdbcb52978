// Stores operations: the backlog, holds after a restore, and nonces used outside of this database.

import { randomBytes } from 'node:crypto';
import { SvcError } from '../../base/svc-error.ts';
import type { SenderKey } from '../ports/anchoring.ts';
import type { OperationsStore } from '../ports/operations.ts';
import { nextNonce, openAttempts } from './anchoring/anchor-attempts.ts';
import { recordAudit } from './audit-log.ts';
import { first, lockRows, rows, type StepRunner, type Steps, some } from './engine/steps.ts';
import { type BacklogRow, READ_BACKLOG, toBacklog } from './rows/anchoring.ts';

/** The reason for degraded anchoring while senders are held. */
const REASON = 'restored';

export const operationsSql = {
  senders: 'SELECT chain_id AS "chainId", address FROM leases ORDER BY chain_id, address',
  backlog: READ_BACKLOG,
  // Waits for the writes of all anchorers, and keeps new ones out.
  takeLeases: 'LOCK TABLE leases IN EXCLUSIVE MODE',
  begin: `INSERT INTO restoration (id, restored_at) VALUES (1, $1)
    ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at`,
  forgetReconciled: 'DELETE FROM reconciled_senders',
  endLeases: 'UPDATE leases SET holder = NULL, expires_at = 0',
  replaceKey: 'UPDATE challenge_key SET key = $1 WHERE id = 1',
  lockRestoration: 'SELECT id FROM restoration WHERE id = 1 FOR SHARE',
  reconcile: `INSERT INTO reconciled_senders (chain_id, address, reconciled_at) VALUES ($1, $2, $3)
    ON CONFLICT (chain_id, address) DO UPDATE SET reconciled_at = excluded.reconciled_at`,
  held: `SELECT id FROM restoration WHERE id = 1 AND NOT EXISTS
    (SELECT 1 FROM reconciled_senders WHERE chain_id = $1 AND address = $2)`,
  saveReasons: `INSERT INTO chain_status (id, degraded, updated_at) VALUES (1, $1, $2)
    ON CONFLICT (id) DO UPDATE SET degraded = excluded.degraded, updated_at = excluded.updated_at
    WHERE chain_status.degraded <> excluded.degraded`,
  addForeign: `INSERT INTO foreign_nonces (chain_id, sender, nonce, tx_hash, recorded_at)
    VALUES ($1, $2, $3, $4, $5)`,
  addTaken: `INSERT INTO foreign_nonces (chain_id, sender, nonce, tx_hash, recorded_at)
    SELECT chain_id, sender, nonce, $4, $5 FROM attempts
    WHERE chain_id = $1 AND sender = $2 AND nonce = $3
      AND state IN ('signed', 'submitted', 'reorged')
    ON CONFLICT (chain_id, sender, nonce)
      DO UPDATE SET tx_hash = excluded.tx_hash, recorded_at = excluded.recorded_at
    RETURNING nonce`,
  walletsIn: `SELECT DISTINCT t.wallet FROM attempts a
    JOIN leaves l ON l.attempt_id = a.id AND l.live
    JOIN tasks t ON t.id = l.task_id
    WHERE a.chain_id = $1 AND a.sender = $2 AND a.nonce = $3`,
} as const;

export function operationsStore({ read, snapshot, write }: StepRunner) {
  return {
    listSenders: () =>
      snapshot(function* () {
        const senders: Awaited<ReturnType<OperationsStore['listSenders']>> = [];
        for (const sender of yield* rows<SenderKey>(operationsSql.senders)) {
          const [next, open] = [yield* nextNonce(sender), yield* openAttempts(sender)];
          senders.push({ ...sender, nextNonce: next, openAttempts: open });
        }
        return senders;
      }),

    readBacklog: async () => toBacklog(await read(() => first<BacklogRow>(operationsSql.backlog))),

    holdQueue: (now) => write(() => holdQueue(now)),

    liftHold: (senders, now) =>
      write(function* () {
        if (!(yield* some(operationsSql.lockRestoration))) return;
        for (const { chainId, address } of senders) {
          yield* rows(operationsSql.reconcile, chainId, address, now);
        }
        yield* rows(operationsSql.saveReasons, '[]', now);
      }),

    recordForeignNonces: (sender, uses, now) =>
      write(function* () {
        yield* lockRows(operationsSql.takeLeases);
        const next = yield* nextNonce(sender);
        for (const [i, { nonce, txHash }] of uses.entries()) {
          if (next === null || nonce !== next + i) {
            throw new SvcError('nonce_conflict', `Nonce ${nonce} does not follow the known ones.`);
          }
          const { chainId, address } = sender;
          yield* rows(operationsSql.addForeign, chainId, address, nonce, txHash, now);
        }
      }),

    recordTakenNonces: ({ chainId, address }, uses, now, by) =>
      write(function* () {
        yield* lockRows(operationsSql.takeLeases);
        for (const { nonce, txHash } of uses) {
          const key = [chainId, address, nonce];
          if (!(yield* some(operationsSql.addTaken, ...key, txHash, now))) {
            throw new SvcError('nonce_conflict', `Nonce ${nonce} has no unmined attempt.`);
          }
          const detail = `nonce ${nonce} of ${address} was used by ${txHash}`;
          for (const { wallet } of yield* rows<{ wallet: string }>(
            operationsSql.walletsIn,
            ...key,
          )) {
            yield* recordAudit(wallet, 'anchor_reconciled', by, { detail });
          }
        }
      }),
  } satisfies Omit<OperationsStore, 'hasRoom'>;
}

/**
 * Ends every lease and holds every sender, future ones too, until each is reconciled with the chain: a restored
 * database may lack anchors made after its backup. The reason `restored` is in the chain status; all other reasons are
 * in the senders' leases. Call it inside a write.
 */
export function* holdQueue(now: number): Steps<void> {
  yield* lockRows(operationsSql.takeLeases);
  yield* rows(operationsSql.begin, now);
  yield* rows(operationsSql.forgetReconciled);
  yield* rows(operationsSql.endLeases);
  yield* rows(operationsSql.replaceKey, randomBytes(32));
  yield* showHold(now);
}

/** Whether the sender is held; then the chain status shows it. Call it inside a write. */
export function* isHeld({ chainId, address }: SenderKey, now: number): Steps<boolean> {
  const isIt = yield* some(operationsSql.held, chainId, address);
  if (isIt) yield* showHold(now);
  return isIt;
}

function* showHold(now: number): Steps<void> {
  yield* rows(operationsSql.saveReasons, JSON.stringify([REASON]), now);
}
