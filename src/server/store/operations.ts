// Stores operations: the backlog, holds after a restore, foreign nonces, and the list of anchoring accounts.

import { randomBytes } from 'node:crypto';
import { SvcError } from '../../base/svc-error.ts';
import type { SenderKey } from '../ports/anchoring.ts';
import type {
  AnchoringAccount,
  AnchoringAccountStore,
  Backlog,
  OperationsStore,
  Sender,
} from '../ports/operations.ts';
import { IS_OPEN, nextNonce, openAttempts } from './anchoring/anchor-attempts.ts';
import { recordAudit } from './audit-log.ts';
import type { Db, Tx } from './db/database.ts';
import { forShare, lockName, onPostgres } from './db/dialect.ts';
import { raw, type Sql, sql } from './db/sql.ts';

export function operationsStore({ read, snapshot, write }: Db) {
  return {
    listSenders: () =>
      snapshot(async (tx) => {
        const senders: Sender[] = [];
        const keys = await tx.all<SenderKey>(
          sql`SELECT chain_id AS "chainId", address FROM leases ORDER BY chain_id, address`,
        );
        for (const key of keys) {
          const next = await nextNonce(tx, key);
          const open = await openAttempts(tx, key);
          senders.push({ ...key, nextNonce: next, openAttempts: open });
        }
        return senders;
      }),

    readBacklog: () => read(readBacklog),

    holdQueue: (now) => write((tx) => holdQueue(tx, now)),

    liftHold: (senders, now) =>
      write(async (tx) => {
        const hold = await tx.get(sql`SELECT id FROM restoration WHERE id = 1 ${forShare}`);
        if (hold === null) return;
        for (const { chainId, address } of senders) {
          await tx.run(sql`INSERT INTO reconciled_senders (chain_id, address, reconciled_at)
            VALUES (${chainId}, ${address}, ${now})
            ON CONFLICT (chain_id, address) DO UPDATE SET reconciled_at = excluded.reconciled_at`);
        }
        await saveReasons(tx, [], now);
      }),

    recordForeignNonces: (sender, uses, now) =>
      write(async (tx) => {
        await takeLeases(tx);
        const next = await nextNonce(tx, sender);
        for (const [i, { nonce, txHash }] of uses.entries()) {
          if (next === null || nonce !== next + i) {
            throw new SvcError('nonce_conflict', `Nonce ${nonce} does not follow the known ones.`);
          }
          await tx.run(sql`
            INSERT INTO foreign_nonces (chain_id, sender, nonce, tx_hash, recorded_at)
            VALUES (${sender.chainId}, ${sender.address}, ${nonce}, ${txHash}, ${now})`);
        }
      }),

    recordTakenNonces: (sender, uses, now, by) =>
      write(async (tx) => {
        await takeLeases(tx);
        for (const { nonce, txHash } of uses) {
          const isIt = sql`a.chain_id = ${sender.chainId} AND a.sender = ${sender.address}
            AND a.nonce = ${nonce}`;
          const taken = await tx.run(sql`
            INSERT INTO foreign_nonces (chain_id, sender, nonce, tx_hash, recorded_at)
            SELECT chain_id, sender, nonce, ${txHash}, ${now} FROM attempts a
            WHERE ${isIt} AND state IN ('signed', 'submitted', 'reorged')
            ON CONFLICT (chain_id, sender, nonce)
              DO UPDATE SET tx_hash = excluded.tx_hash, recorded_at = excluded.recorded_at`);
          if (taken === 0) {
            throw new SvcError('nonce_conflict', `Nonce ${nonce} has no unmined attempt.`);
          }
          const detail = `nonce ${nonce} of ${sender.address} was used by ${txHash}`;
          for (const wallet of await walletsIn(tx, isIt)) {
            await recordAudit(tx, wallet, 'anchor_reconciled', by, { detail });
          }
        }
      }),
  } satisfies Omit<OperationsStore, 'hasRoom'>;
}

async function readBacklog(tx: Tx): Promise<Backlog> {
  type Row = Omit<Backlog, 'attempts' | 'submitted'> & Backlog['attempts'] & { leaves: number };
  const row = await tx.one<Row>(sql`SELECT
      (SELECT count(*) FROM completions WHERE state = 'queued') AS queued,
      (SELECT min(queued_at) FROM completions WHERE state = 'queued') AS "oldestQueuedAt",
      (SELECT count(*) FROM attempts WHERE state = 'included') AS included,
      coalesce(sum(unsettled_leaves), 0) AS leaves,
      count(*) FILTER (WHERE state = 'signed') AS signed,
      count(*) FILTER (WHERE state = 'submitted') AS submitted,
      count(*) FILTER (WHERE state = 'reorged') AS reorged,
      min(created_at) FILTER (WHERE state NOT IN ('included', 'finalized')) AS "oldestUnminedAt"
    FROM attempts WHERE ${IS_OPEN}`);
  const { queued, oldestQueuedAt, leaves, oldestUnminedAt, ...attempts } = row;
  return { queued, oldestQueuedAt, submitted: leaves, attempts, oldestUnminedAt };
}

/** The accounts with a proof in the attempt `a`. */
async function walletsIn(tx: Tx, isIt: Sql): Promise<string[]> {
  const found = await tx.all<{ wallet: string }>(sql`SELECT DISTINCT t.wallet FROM attempts a
    JOIN leaves l ON l.attempt_id = a.id AND l.live
    JOIN tasks t ON t.id = l.task_id WHERE ${isIt}`);
  return found.map(({ wallet }) => wallet);
}

/**
 * Ends every lease and holds every sender, future ones too, until each is reconciled with the chain: a restored
 * database may lack anchors made after its backup. The reason `restored` is in the chain status, or
 * `key_not_reconciled` for a sender that came later; all other reasons are in the senders' leases. Call it inside a write.
 */
export async function holdQueue(tx: Tx, now: number): Promise<void> {
  await takeLeases(tx);
  await tx.run(sql`INSERT INTO restoration (id, restored_at) VALUES (1, ${now})
    ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at`);
  await tx.run(sql`DELETE FROM reconciled_senders`);
  await tx.run(sql`UPDATE leases SET holder = NULL, expires_at = 0`);
  await tx.run(sql`UPDATE challenge_key SET key = ${randomBytes(32)} WHERE id = 1`);
  await showHold(tx, now);
}

/** Waits for the writes of all anchorers, and keeps new ones out. */
async function takeLeases(tx: Tx): Promise<void> {
  await tx.run(onPostgres(sql`LOCK TABLE leases IN EXCLUSIVE MODE`));
}

/** Whether the sender is held; then the chain status shows it. Call it inside a write. */
export async function isHeld(tx: Tx, { chainId, address }: SenderKey, now: number) {
  const hold = await tx.get(sql`SELECT id FROM restoration WHERE id = 1 AND NOT EXISTS
    (SELECT 1 FROM reconciled_senders WHERE chain_id = ${chainId} AND address = ${address})`);
  if (hold === null) return false;
  await showHold(tx, now);
  return true;
}

/** Shows `restored` while no sender was reconciled, and `key_not_reconciled` for a sender that came later. */
async function showHold(tx: Tx, now: number): Promise<void> {
  const reconciled = await tx.get(
    sql`SELECT address FROM reconciled_senders WHERE chain_id > 0 LIMIT 1`,
  );
  await saveReasons(tx, [reconciled === null ? 'restored' : 'key_not_reconciled'], now);
}

async function saveReasons(tx: Tx, reasons: readonly string[], now: number): Promise<void> {
  await tx.run(sql`
    INSERT INTO chain_status (id, degraded, updated_at) VALUES (1, ${JSON.stringify(reasons)}, ${now})
    ON CONFLICT (id) DO UPDATE SET degraded = excluded.degraded, updated_at = excluded.updated_at
    WHERE chain_status.degraded <> excluded.degraded`);
}

interface AccountRow
  extends Omit<AnchoringAccount, 'firstBlock' | 'lastBlock' | 'endsElsewhere' | 'promiseKey'> {
  promiseKey: string | null;
  firstBlock: number;
  lastBlock: number | null;
  endsElsewhere: number | boolean;
}

/** The sequence number of the next list. */
const NEXT_LIST = raw('(SELECT coalesce(max(changed_in), 0) + 1 FROM anchoring_accounts)');

export function anchoringAccountStore({ read, write, leased }: Db): AnchoringAccountStore {
  return {
    listAnchoringAccounts: async () => (await read(anchoringAccounts)).map(toAccount),

    addAnchoringAccount: ({ chainId, address, firstBlock, origin, signature, promiseKey }) =>
      write(async (tx) => {
        await lockList(tx);
        const key = promiseKey && JSON.stringify(promiseKey);
        await tx.run(sql`INSERT INTO anchoring_accounts AS a
            (chain_id, address, first_block, changed_in, origin, signature, promise_key)
          VALUES (${chainId}, ${address}, ${Number(firstBlock)}, ${NEXT_LIST}, ${origin}, ${signature}, ${key})
          ON CONFLICT (chain_id, address) DO UPDATE
            SET promise_key = excluded.promise_key, changed_in = excluded.changed_in
            WHERE a.promise_key IS NULL AND a.last_block IS NULL AND excluded.promise_key IS NOT NULL`);
      }),

    retireAnchoringAccount: (lease, atLeast = 0n) =>
      leased.write(lease, async (tx) => {
        await lockList(tx);
        const isIt = sql`chain_id = ${lease.chainId} AND address = ${lease.sender}`;
        const newest = await tx.get<{ block: number }>(sql`
          SELECT coalesce((SELECT mined_block_number FROM attempts a
            WHERE a.chain_id = l.chain_id AND a.sender = l.address AND state = 'finalized'
            ORDER BY nonce DESC LIMIT 1), first_block) AS block
          FROM anchoring_accounts l WHERE ${isIt} AND last_block IS NULL`);
        if (newest === null) return;
        const last = Math.max(newest.block, Number(atLeast));
        await tx.run(sql`UPDATE anchoring_accounts SET changed_in = ${NEXT_LIST}, last_block = ${last}
          WHERE ${isIt}`);
      }),
  };
}

/** Without it, two changes at the same time would get the same sequence number. */
function lockList(tx: Tx): Promise<void> {
  return lockName(tx, 'anchoring accounts');
}

function anchoringAccounts(tx: Tx) {
  return tx.all<AccountRow>(sql`
    SELECT chain_id AS "chainId", address, first_block AS "firstBlock", last_block AS "lastBlock",
      changed_in AS "changedIn", origin, signature, promise_key AS "promiseKey",
      coalesce((SELECT max(nonce) FROM foreign_nonces f
          WHERE f.chain_id = anchoring_accounts.chain_id
            AND f.sender = anchoring_accounts.address), -1)
        > coalesce((SELECT nonce FROM attempts a
          WHERE a.chain_id = anchoring_accounts.chain_id
            AND a.sender = anchoring_accounts.address AND state = 'finalized'
          ORDER BY nonce DESC LIMIT 1), -1) AS "endsElsewhere"
    FROM anchoring_accounts ORDER BY first_block, chain_id, address`);
}

function toAccount(row: AccountRow): AnchoringAccount {
  const { firstBlock, lastBlock, endsElsewhere, promiseKey } = row;
  return {
    ...row,
    firstBlock: BigInt(firstBlock),
    lastBlock: lastBlock === null ? null : BigInt(lastBlock),
    endsElsewhere: Boolean(endsElsewhere),
    promiseKey: promiseKey && JSON.parse(promiseKey),
  };
}
