// The account: balance, usage, gate, ledger and audit log for its owner; usage, suspension and deletion.
import { v5 as uuidv5 } from 'uuid';
import type { LedgerEntry } from '../../protocol/account.ts';
import { limits } from '../../protocol/limits.ts';
import type { AccountUsage } from '../../protocol/operator-api.ts';
import type { Answer, Query } from '../../protocol/routes.ts';
import { formatIfAny, formatTimestamp } from '../../protocol/timestamp.ts';
import type { AccountSummary, Actor, Balance, Deletion, LedgerRecord } from '../ports/account.ts';
import { wireError } from '../ports/errors.ts';
import type { AccountCaller } from '../ports/sign-in.ts';
import type { Store } from '../ports/store.ts';
import { affordableAnchors, reservation } from '../rules/credits.ts';
import type { Deps } from './deps.ts';
import type { Page } from './paging.ts';
import { filteredPage, openCursors, pageById, pageOf, periodOf } from './paging.ts';
import type { GateReader } from './sign-in.ts';

type Account = Answer<'getAccount'>['body'];

/** Refused tasks that are counted at most. */
const REFUSED_COUNTED = 1000;

/** The account of a wallet: balance, usage and limits, with the anchors it can afford at the newest fee quote. */
export async function readAccount({ store, settings }: Deps, readGate: GateReader, wallet: string) {
  const [holds, balance, status, used, refused] = await Promise.all([
    readGate(wallet),
    store.getBalance(wallet),
    store.getChainStatus(),
    store.countUsed(wallet),
    store.countRefused(wallet, REFUSED_COUNTED),
  ]);
  const reservedWei = status?.quote ? reservation(status.quote) : null;
  return {
    wallet,
    gate: { required: settings.gate !== null, holds },
    credits: {
      ...viewCredits(balance ?? { wallet, anchorQuota: 0, gasCreditWei: 0n }, reservedWei),
      refused: { tasks: refused.tasks, since: formatIfAny(refused.since) },
      credit_url: settings.creditUrl,
    },
    limits: {
      robots: { used: used.robots, max: limits.robotsPerAccount },
      fleets: { used: used.fleets, max: limits.fleetsPerAccount },
    },
  } satisfies Account;
}

/** One page of the account's ledger, newest first. Throws `invalid_request` for a cursor of another list. */
export async function listLedger({ store }: Deps, wallet: string, query: Query<'listLedger'>) {
  const cursors = await openCursors(store, 'ledger', wallet);
  const { from, to } = periodOf(query);
  const begin = cursors.seqOf(query.cursor);
  return filteredPage<LedgerRecord, LedgerEntry>({
    limit: query.limit,
    isFiltered: query.to !== undefined,
    find: (count, last) =>
      store.listLedger({ wallet, taskId: query.task_id ?? null }, count, last?.seq ?? begin),
    keeps: ({ at }) => at < to,
    isPast: ({ at }) => at < from,
    cursorOf: ({ seq }) => cursors.cursorOf(seq),
    view: viewEntry,
  });
}

/** Without a fee quote, only the quota limits the affordable anchors. */
function viewCredits({ anchorQuota, gasCreditWei }: Balance, reservedWei: bigint | null) {
  const affordable =
    reservedWei === null ? null : affordableAnchors(anchorQuota, gasCreditWei, reservedWei);
  return {
    anchor_quota: anchorQuota,
    gas_credit_wei: gasCreditWei.toString(),
    anchors_affordable: affordable,
    low: (affordable ?? anchorQuota) < limits.lowAnchors,
  } satisfies Partial<Account['credits']>;
}

function viewEntry(entry: LedgerRecord): LedgerEntry {
  return {
    id: idOf(entry),
    kind: entry.kind,
    anchors: entry.anchors,
    gas_wei: entry.gasWei.toString(),
    cost_wei: entry.costWei === null ? null : entry.costWei.toString(),
    task_id: entry.taskId,
    note: entry.note,
    created_at: formatTimestamp(entry.at),
  };
}

const ENTRIES = '67d75ac8-00c2-4fe5-9024-0f5ff5e8acb8';

/**
 * A stable id built from the fields that identify an entry. The entry's ledger position would reveal how much other
 * accounts use the service.
 */
function idOf({ kind, grantId, taskId, cycle }: LedgerRecord): string {
  return uuidv5(grantId === null ? `${kind} ${taskId} ${cycle}` : `${kind} ${grantId}`, ENTRIES);
}

/** One page of all accounts, in the order of their wallets. */
export function listAccounts(
  store: Store,
  now: number,
  { limit, cursor = null }: { limit?: string; cursor?: string | null },
): Promise<Page<AccountUsage>> {
  return pageOf(limit, (count) => store.summarizeAccounts(now, count, cursor), {
    cursorOf: ({ wallet }) => wallet,
    view: viewAccount,
  });
}

/** Throws `not_found`. */
export async function showAccount(store: Store, wallet: string, now: number) {
  const found = await store.summarizeAccount(now, wallet);
  if (found === null) throw noAccount(wallet);
  return viewAccount(found);
}

/**
 * Suspends or resumes an account, also if it is so already. It takes effect with the next call of the account, on every
 * instance. Throws `not_found`.
 */
export async function suspendAccount(
  store: Store,
  wallet: string,
  { isSuspended, reason, by }: { isSuspended: boolean; reason: string | null; by: Actor },
): Promise<AccountUsage> {
  const exists = await store.suspendAccount(wallet, isSuspended, by, reason);
  if (!exists) throw noAccount(wallet);
  return showAccount(store, wallet, by.at);
}

type DeletionDeps = Pick<Deps, 'store' | 'clock'>;

/** Records read at once. */
const PAGE = 100;

/**
 * Ends sessions, tokens and keys of the account at once, and then deletes what it stored. Credits, the ledger and what
 * the chain holds stay. Resolves when only samples and events are left: retention deletes them. Throws `not_found`.
 */
export async function deleteAccount(deps: DeletionDeps, wallet: string): Promise<void> {
  const deletion = await deps.store.beginDeletion(wallet, operator('accounts delete'));
  if (deletion === null) throw noAccount(wallet);
  await erase(deps, deletion);
}

/** As `deleteAccount`, but resolves when the deletion has begun. */
export async function beginDeletion(deps: DeletionDeps, owner: AccountCaller): Promise<void> {
  const deletion = await deps.store.beginDeletion(owner.wallet, owner.by);
  if (deletion === null) throw noAccount(owner.wallet);
  // Retention continues and reports what fails.
  void erase(deps, deletion).catch(() => {});
}

/** Continues the deletions that have begun, one after the other. */
export async function continueDeletions(
  deps: DeletionDeps,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  for (const deletion of await deps.store.listDeletions()) {
    if (!signal.aborted) await erase(deps, deletion, signal).catch(onError);
  }
}

async function erase({ store, clock }: DeletionDeps, deletion: Deletion, signal?: AbortSignal) {
  const { wallet } = deletion;
  const now = clock.now();
  const by = { ...operator('accounts delete'), wallet };
  const kinds = [
    { list: store.listRobots, remove: (id: string) => store.deleteRobot(id, wallet, now) },
    { list: store.listFleets, remove: (id: string) => store.deleteFleet(id, wallet, now) },
    { list: store.listWebhooks, remove: (id: string) => store.deleteWebhook(id, by) },
  ];
  for (const { list, remove } of kinds) {
    for (;;) {
      const items = await list(wallet, PAGE, null);
      // If another instance has ended the deletion, what the account made since must stay.
      if (signal?.aborted || !(await store.isDeleting(deletion))) return;
      if (items.length === 0) break;
      for (const { id } of items) await remove(id);
    }
  }
  await store.endDeletion(deletion);
}

export function viewBalance({ wallet, anchorQuota, gasCreditWei }: Balance) {
  return { wallet, anchor_quota: anchorQuota, gas_credit_wei: String(gasCreditWei) };
}

function viewAccount(account: AccountSummary): AccountUsage {
  const { createdAt, suspendedAt, suspensionReason, robots, storedBytes, queued } = account;
  return {
    ...viewBalance(account),
    created_at: formatTimestamp(createdAt),
    suspended_at: formatIfAny(suspendedAt),
    suspension_reason: suspensionReason,
    robots,
    stored_bytes: storedBytes,
    queued_proofs: queued,
    anchors_30_days: account.anchors,
    returned_30_days: account.returned,
    uncovered_wei_30_days: BigInt(Math.round(account.uncoveredWei)).toString(),
  };
}

function noAccount(wallet: string) {
  return wireError('not_found', `The wallet ${wallet} has no account.`);
}

/** The operator, by a command of `svc-server`. */
export function operator(command: string): Actor {
  const name = `svc-server ${command}`;
  return { actor: 'operator', actor_name: name, source: null, at: Date.now() };
}

/** One page of the account's audit log, newest first. */
export function listAuditLog({ store }: Deps, wallet: string, query: Query<'listAuditLog'>) {
  return pageById(
    query,
    (...page) => store.listAuditLog(wallet, ...page),
    ({ at, ...entry }) => ({ ...entry, created_at: formatTimestamp(at) }),
  );
}
