// Stores operations: the backlog, holds after a restore, nonces used elsewhere, and the list of anchoring accounts.
import { randomBytes } from 'node:crypto';
import { SvcError } from '../../base/svc-error.ts';
import type { SenderKey } from '../ports/anchoring.ts';
import type {
  AnchoringAccount,
  AnchoringAccountStore,
  OperationsStore,
} from '../ports/operations.ts';
import { nextNonce, openAttempts } from './anchoring/anchor-attempts.ts';
import { recordAudit } from './audit-log.ts';
import { first, lockRows, mutex, rows, type StepRunner, type Steps, some } from './engine/steps.ts';
import { type BacklogRow, READ_BACKLOG, toBacklog } from './rows/anchoring.ts';

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
  anyReconciled: 'SELECT address FROM reconciled_senders WHERE chain_id > 0 LIMIT 1',
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
 * database may lack anchors made after its backup. The reason `restored` is in the chain status, or
 * `key_not_reconciled` for a sender that came later; all other reasons are in the senders' leases. Call it inside a write.
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

/** Shows the reason: nothing was reconciled yet, or all but a sender that came later. */
function* showHold(now: number): Steps<void> {
  const reason = (yield* some(operationsSql.anyReconciled)) ? 'key_not_reconciled' : 'restored';
  yield* rows(operationsSql.saveReasons, JSON.stringify([reason]), now);
}

/** The sequence number of the next list. Two changes at the same time would get the same one, without the mutex. */
const NEXT_LIST = '(SELECT coalesce(max(changed_in), 0) + 1 FROM anchoring_accounts)';
const MUTEX = 'anchoring accounts';

interface AccountRow extends Omit<AnchoringAccount, 'firstBlock' | 'lastBlock' | 'endsElsewhere'> {
  firstBlock: number;
  lastBlock: number | null;
  endsElsewhere: number | boolean;
}

export const anchoringAccountSql = {
  list: `SELECT chain_id AS "chainId", address, first_block AS "firstBlock",
      last_block AS "lastBlock", changed_in AS "changedIn", origin, signature,
      coalesce((SELECT max(nonce) FROM foreign_nonces f
          WHERE f.chain_id = anchoring_accounts.chain_id AND f.sender = anchoring_accounts.address), -1)
        > coalesce((SELECT nonce FROM attempts a
          WHERE a.chain_id = anchoring_accounts.chain_id AND a.sender = anchoring_accounts.address AND state = 'finalized'
          ORDER BY nonce DESC LIMIT 1), -1) AS "endsElsewhere"
    FROM anchoring_accounts ORDER BY first_block, chain_id, address`,
  add: `INSERT INTO anchoring_accounts (chain_id, address, first_block, changed_in, origin, signature)
    VALUES ($1, $2, $3, ${NEXT_LIST}, $4, $5) ON CONFLICT (chain_id, address) DO NOTHING`,
  newest: `SELECT coalesce((SELECT mined_block_number FROM attempts a
      WHERE a.chain_id = l.chain_id AND a.sender = l.address AND state = 'finalized'
      ORDER BY nonce DESC LIMIT 1), first_block) AS block
    FROM anchoring_accounts l WHERE chain_id = $1 AND address = $2 AND last_block IS NULL`,
  retire: `UPDATE anchoring_accounts SET changed_in = ${NEXT_LIST}, last_block = $3
    WHERE chain_id = $1 AND address = $2`,
} as const;

export function anchoringAccountStore({ read, write, leased }: StepRunner): AnchoringAccountStore {
  return {
    listAnchoringAccounts: async () =>
      (await read(() => rows<AccountRow>(anchoringAccountSql.list))).map(toAccount),

    addAnchoringAccount: ({ chainId, address, firstBlock, origin, signature }) =>
      write(function* () {
        yield* mutex(MUTEX);
        const values = [chainId, address, Number(firstBlock), origin, signature];
        yield* rows(anchoringAccountSql.add, ...values);
      }),

    retireAnchoringAccount: (lease, atLeast = 0n) =>
      leased.write(lease, function* () {
        yield* mutex(MUTEX);
        const key = [lease.chainId, lease.sender];
        const newest = yield* first<{ block: number }>(anchoringAccountSql.newest, ...key);
        if (newest === undefined) return;
        const last = Math.max(newest.block, Number(atLeast));
        yield* rows(anchoringAccountSql.retire, ...key, last);
      }),
  };
}

function toAccount({ firstBlock, lastBlock, endsElsewhere, ...row }: AccountRow): AnchoringAccount {
  const last = lastBlock === null ? null : BigInt(lastBlock);
  const others = { firstBlock: BigInt(firstBlock), lastBlock: last };
  return { ...row, ...others, endsElsewhere: Boolean(endsElsewhere) };
}
