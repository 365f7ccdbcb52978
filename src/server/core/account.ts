// The account: balance, usage, gate and ledger.
import { v5 as uuidv5 } from 'uuid';
import { limits } from '../../protocol/limits.ts';
import type { Answer, Query } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { Balance, LedgerRecord } from '../ports/account.ts';
import type { Page } from '../ports/json-text.ts';
import { affordableAnchors, reservation } from '../rules/credits.ts';
import type { Deps } from './deps.ts';
import { filteredPage, periodOf } from './filters.ts';
import { openCursors } from './paging.ts';
import type { GateReader } from './sign-in.ts';

type Account = Answer<'getAccount'>['body'];
type LedgerEntry = Answer<'listLedger'>['body']['items'][number];

/** The account of a wallet: balance, usage and limits, with the anchors it can afford at the newest fee quote. */
export async function readAccount(
  { store, settings }: Deps,
  readGate: GateReader,
  wallet: string,
): Promise<Account> {
  const [holds, balance, status, used] = await Promise.all([
    readGate(wallet),
    store.getBalance(wallet),
    store.getChainStatus(),
    store.countUsed(wallet),
  ]);
  const reservedWei = status?.quote ? reservation(status.quote) : null;
  return {
    wallet,
    gate: { required: settings.gate !== null, holds },
    credits: viewCredits(balance ?? { wallet, anchorQuota: 0, gasCreditWei: 0n }, reservedWei),
    limits: {
      robots: { used: used.robots, max: limits.robotsPerAccount },
      fleets: { used: used.fleets, max: limits.fleetsPerAccount },
    },
  };
}

/** One page of the account's ledger, newest first. Throws `invalid_request` for a cursor of another list. */
export async function listLedger(
  { store }: Deps,
  wallet: string,
  query: Query<'listLedger'>,
): Promise<Page<LedgerEntry>> {
  const cursors = await openCursors(store, 'ledger', wallet);
  const { from, to } = periodOf(query);
  const begin = cursors.seqOf(query.cursor);
  return filteredPage<LedgerRecord, LedgerEntry>({
    limit: query.limit,
    isFiltered: query.to !== undefined,
    find: (count, last) => store.listLedger(wallet, count, last?.seq ?? begin),
    keeps: ({ at }) => at < to,
    isPast: ({ at }) => at < from,
    cursorOf: ({ seq }) => cursors.cursorOf(seq),
    view: viewEntry,
  });
}

/** Without a fee quote, only the quota limits the affordable anchors. */
function viewCredits(
  { anchorQuota, gasCreditWei }: Balance,
  reservedWei: bigint | null,
): Account['credits'] {
  const affordable =
    reservedWei === null ? null : affordableAnchors(anchorQuota, gasCreditWei, reservedWei);
  return {
    anchor_quota: anchorQuota,
    gas_credit_wei: gasCreditWei.toString(),
    anchors_affordable: affordable,
    low: (affordable ?? anchorQuota) < limits.lowAnchors,
  };
}

function viewEntry(entry: LedgerRecord): LedgerEntry {
  return {
    id: idOf(entry),
    kind: entry.kind,
    anchors: entry.anchors,
    gas_wei: entry.gasWei.toString(),
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
  return uuidv5(kind === 'grant' ? `grant ${grantId}` : `${kind} ${taskId} ${cycle}`, ENTRIES);
}
