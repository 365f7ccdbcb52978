// Stores the ledger: grants, reservations, charges and what they change in balances.

import { isDeepStrictEqual } from 'node:util';
import type { AccountStore, Balance, CreditStore, Grant, LedgerRecord } from '../ports/account.ts';
import { wireError } from '../ports/errors.ts';
import { chargeOf } from '../rules/credits.ts';
import { balanceOf, lockBalances, openAccount } from './account.ts';
import { recordAudit } from './audit-log.ts';
import type { Db, Tx } from './db/database.ts';
import { among, lockAccount, lockName, onPostgres } from './db/dialect.ts';
import { type InText, insertNew } from './db/rows.ts';
import { raw, sql } from './db/sql.ts';

/** A change of an account's balance; amounts are signed. */
interface BalanceChange {
  wallet: string;
  anchors: number;
  gasWei: bigint;
}

type OfTask = { kind: 'reserve' | 'settle' | 'release'; taskId: string; cycle: number };
type OfGrant = { kind: 'grant' | 'revoke'; grantId: string; note: string };

type LedgerEntry = BalanceChange & { at: number } & (
    | (OfTask & { grantId?: never; note?: never })
    | (OfGrant & { taskId?: never; cycle?: never })
  );

type GrantEntry = LedgerEntry & OfGrant;
type LedgerRow = InText<Omit<LedgerRecord, 'costWei'>> & { backWei: string | null };
type GrantRow = InText<Pick<GrantEntry, 'kind' | 'wallet' | 'anchors' | 'gasWei' | 'note'>>;

interface Reservation {
  wallet: string;
  cycle: number;
  gasWei: bigint;
}

/** The charge of a settled leaf, and what the account gets back of its reservation. */
interface Charge extends Reservation {
  taskId: string;
  chargeWei: bigint;
}

export function creditStore({ all, read, write }: Db) {
  return {
    async listLedger({ wallet, taskId }, limit, before) {
      const page = await all<LedgerRow>(sql`SELECT seq, kind, anchors, gas_wei AS "gasWei",
          CASE kind WHEN 'reserve' THEN coalesce(${backOf('settle')}, ${backOf('release')}) END
            AS "backWei",
          task_id AS "taskId", cycle, grant_id AS "grantId", note, at FROM ledger l
        WHERE ${ofWallet(wallet, taskId)} AND seq < ${before ?? Number.MAX_SAFE_INTEGER}
        ORDER BY seq DESC LIMIT ${limit}`);
      return page.map(({ backWei, ...row }) => {
        const gasWei = BigInt(row.gasWei);
        return { ...row, gasWei, costWei: backWei === null ? null : -(gasWei + BigInt(backWei)) };
      });
    },

    grantCredits: (grant, by) =>
      write(async (tx) => {
        const entry = grantEntry(grant);
        if (await isRepeated(tx, entry)) return outcome(tx, 'repeated', grant);
        await openAccount(tx, grant.wallet, grant.now);
        requireRoom(await existing(tx, grant.wallet), grant);
        await postEntries(tx, [entry]);
        await recordAudit(tx, grant.wallet, 'credits_granted', by, { detail: detailOf(grant) });
        return outcome(tx, 'granted', grant);
      }),

    revokeCredits: (grant, by) =>
      write(async (tx) => {
        const entry = revokeEntry(grant);
        if (await isRepeated(tx, entry)) return outcome(tx, 'repeated', grant);
        await lockAccount(tx, grant.wallet);
        requireCredits(await existing(tx, grant.wallet), grant);
        await postEntries(tx, [entry]);
        await recordAudit(tx, grant.wallet, 'credits_revoked', by, { detail: detailOf(grant) });
        return outcome(tx, 'revoked', grant);
      }),

    getBalance: (wallet) => read((tx) => balanceOf(tx, wallet)),
  } satisfies CreditStore & Pick<AccountStore, 'listLedger'>;
}

/** A task has few reservations: SQLite must read them by the task, not by the wallet. */
function ofWallet(wallet: string, taskId: string | null) {
  if (taskId === null) return sql`wallet = ${wallet}`;
  return sql`kind = 'reserve' AND task_id = ${taskId} AND wallet || '' = ${wallet}`;
}

/** What the account got back when the reservation `l` was closed. */
function backOf(kind: 'settle' | 'release') {
  return sql`(SELECT gas_wei FROM ledger b
    WHERE b.task_id = l.task_id AND b.cycle = l.cycle AND b.kind = ${raw(`'${kind}'`)})`;
}

/**
 * Whether the ledger has this grant or revocation. Serializes calls with its id.
 *
 * @throws SvcError `id_conflict` if the id has other content.
 */
async function isRepeated(tx: Tx, entry: GrantEntry): Promise<boolean> {
  await lockName(tx, entry.grantId);
  const stored = await findGrant(tx, entry.grantId);
  if (stored === null) return false;
  const { kind, wallet, anchors, gasWei, note } = entry;
  // A caller's -0 is stored as 0.
  const given: GrantRow = { kind, wallet, anchors: anchors + 0, gasWei: String(gasWei), note };
  if (isDeepStrictEqual({ ...stored }, given)) return true;
  throw wireError('id_conflict', 'The id is already used with other content.');
}

async function outcome<Name>(tx: Tx, name: Name, { wallet }: Grant) {
  return { outcome: name, balance: await existing(tx, wallet) };
}

/** Finds a grant or a revocation. */
export function findGrant(tx: Tx, id: string) {
  return tx.get<GrantRow>(sql`SELECT kind, wallet, anchors, gas_wei AS "gasWei", note FROM ledger
    WHERE grant_id = ${id}`);
}

async function existing(tx: Tx, wallet: string): Promise<Balance> {
  const balance = await balanceOf(tx, wallet);
  if (balance === null) throw new Error('The account of a grant is missing');
  return balance;
}

const detailOf = ({ anchors, gasWei, note }: Grant) => `${anchors} anchors, ${gasWei} wei: ${note}`;

export function grantEntry({ id, wallet, anchors, gasWei, note, now }: Grant): GrantEntry {
  return { kind: 'grant', wallet, anchors, gasWei, grantId: id, note, at: now };
}

function revokeEntry(grant: Grant): GrantEntry {
  const { anchors, gasWei } = grant;
  return { ...grantEntry(grant), kind: 'revoke', anchors: 0 - anchors, gasWei: -gasWei };
}

/** @throws SvcError `invalid_request` */
function requireRoom(balance: Balance, grant: Grant): void {
  const anchors = balance.anchorQuota + grant.anchors;
  if (grant.anchors < 0 || grant.gasWei < 0n || !Number.isSafeInteger(anchors)) {
    throw wireError(
      'invalid_request',
      'A grant must not be negative, and the balance must be at most 2^53 - 1 anchors.',
    );
  }
}

/** Reserved credits are not in the balance, so they cannot be revoked. @throws SvcError `invalid_request` */
function requireCredits({ anchorQuota, gasCreditWei }: Balance, grant: Grant): void {
  const { anchors, gasWei } = grant;
  const isAmount = Number.isSafeInteger(anchors) && anchors >= 0 && gasWei >= 0n;
  if (isAmount && anchors <= anchorQuota && gasWei <= gasCreditWei) return;
  throw wireError(
    'invalid_request',
    `Nothing was revoked: the account has ${anchorQuota} anchors and ${gasCreditWei} wei that are not reserved.`,
  );
}

/**
 * Appends entries and updates each balance once. Locks the accounts in the order of wallets. Call it inside a write;
 * balances and entries always change together.
 */
export async function postEntries(tx: Tx, entries: readonly LedgerEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const changes = sums(entries);
  const balances = await lockBalances(tx, [...changes.keys()]);
  if (balances.length !== changes.size) {
    throw new Error('The account of a ledger entry is missing');
  }
  for (const { wallet, anchorQuota, gasCreditWei } of balances) {
    const { anchors = 0, gasWei = 0n } = changes.get(wallet) ?? {};
    await tx.run(sql`UPDATE accounts SET anchor_quota = ${anchorQuota + anchors},
      gas_credit_wei = ${String(gasCreditWei + gasWei)} WHERE wallet = ${wallet}`);
  }
  const appended = await insertNew(tx, 'ledger', entries.map(toRow));
  if (appended.length !== entries.length) throw new Error('The ledger has such an entry already');
}

function sums(entries: readonly LedgerEntry[]): Map<string, BalanceChange> {
  const changes = new Map<string, BalanceChange>();
  for (const { wallet, anchors, gasWei } of entries) {
    const sum = changes.get(wallet) ?? { wallet, anchors: 0, gasWei: 0n };
    changes.set(wallet, { wallet, anchors: sum.anchors + anchors, gasWei: sum.gasWei + gasWei });
  }
  return changes;
}

function toRow({ gasWei, taskId, grantId, cycle, note, ...row }: LedgerEntry): object {
  const ofTask = { task_id: taskId ?? null, cycle: cycle ?? null };
  const ofGrant = { grant_id: grantId ?? null, note: note ?? null };
  return { ...row, ...ofTask, ...ofGrant, gas_wei: String(gasWei) };
}

/** Locks the accounts that reserved credits for the tasks. Call it inside a write, before locking the tasks. */
export async function lockReserving(tx: Tx, taskIds: readonly string[]): Promise<void> {
  await tx.run(
    onPostgres(sql`SELECT wallet FROM accounts WHERE wallet IN
      (SELECT wallet FROM ledger WHERE task_id ${among('uuid', taskIds)} AND kind = 'reserve')
      ORDER BY wallet FOR NO KEY UPDATE`),
  );
}

/** Returns the reservations of the tasks' newest cycles to the accounts. Call it inside a write. */
export async function releaseReservations(tx: Tx, taskIds: readonly string[], at: number) {
  if (taskIds.length === 0) return;
  const reservationOf = await reservationsOf(tx, taskIds);
  const entries = taskIds.map((taskId): LedgerEntry => {
    const { wallet, cycle, gasWei } = reservationOf(taskId);
    return { kind: 'release', wallet, anchors: 1, gasWei, taskId, cycle, at };
  });
  await postEntries(tx, entries);
}

/** The reservation of each task's newest cycle. It is still there after the task is deleted. */
export async function reservationsOf(tx: Tx, taskIds: readonly string[]) {
  type Row = { task_id: string; wallet: string; cycle: number; gas_wei: string };
  const found = await tx.all<Row>(sql`SELECT task_id, wallet, cycle, gas_wei FROM ledger
    WHERE task_id ${among('uuid', taskIds)} AND kind = 'reserve' ORDER BY task_id, cycle`);
  const newest = new Map(found.map((row) => [row.task_id, row]));
  return (taskId: string): Reservation => {
    const row = newest.get(taskId);
    if (row === undefined) throw new Error('The task has no reservation');
    return { wallet: row.wallet, cycle: row.cycle, gasWei: -BigInt(row.gas_wei) };
  };
}

/** The charges of leaves at their first settlement. `gasWei` is what the account gets back. */
export function chargesOf(
  { leaf_count: count, cost_wei }: { leaf_count: number; cost_wei: string },
  leaves: readonly { task_id: string; leaf_index: number }[],
  reservationOf: (taskId: string) => Reservation,
): Charge[] {
  return leaves.map(({ task_id: taskId, leaf_index: index }) => {
    const { wallet, cycle, gasWei: reservedWei } = reservationOf(taskId);
    const chargeWei = chargeOf(BigInt(cost_wei), { index, count, reservedWei });
    return { wallet, taskId, cycle, chargeWei, gasWei: reservedWei - chargeWei };
  });
}
