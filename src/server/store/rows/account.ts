// Converts rows of accounts, ledger and sessions; checks grants; counts calls against rate limits.

import { limits } from '../../../protocol/limits.ts';
import type { Balance, Grant, LedgerRecord } from '../../ports/account.ts';
import { wireError } from '../../ports/errors.ts';
import type { RateCount, SessionRecord } from '../../ports/sign-in.ts';
import { chargeOf } from '../../rules/credits.ts';
import type { InText } from '../engine/steps.ts';

export type LedgerRow = InText<LedgerRecord>;

export const LEDGER_COLUMNS = `seq, kind, anchors, gas_wei AS "gasWei", task_id AS "taskId", cycle,
  grant_id AS "grantId", note, at`;

/** Period of the anchors in an account's summary. */
export const SUMMARY_MS = 30 * 24 * 60 * 60_000;

/** Entries `e` of the account that the index `ledger_uncovered` has: their reservation came back, or was used up. */
const UNCOVERED = `e.wallet = a.wallet AND e.at >= $1
    AND (e.kind = 'release' OR (e.kind = 'settle' AND e.gas_wei = '0'))`;
/** The cost of an anchor beyond its reservation. */
const EXCESS =
  'CAST(t.cost_wei AS double precision) / t.leaf_count + CAST(r.gas_wei AS double precision)';

/** Account `a` for the operator, with the anchors since `$1`. Both databases run it. */
export const SUMMARY = `WITH waiting AS (
    SELECT t.wallet, count(*) AS proofs FROM completions c JOIN tasks t ON t.id = c.task_id
    WHERE c.state = 'queued' GROUP BY t.wallet)
  SELECT a.wallet, a.anchor_quota AS "anchorQuota", a.gas_credit_wei AS "gasCreditWei",
    a.created_at AS "createdAt", a.suspended_at AS "suspendedAt",
    a.suspension_reason AS "suspensionReason",
    (SELECT count(*) FROM robots r WHERE r.wallet = a.wallet) AS robots,
    coalesce((SELECT bytes FROM storage_usage u WHERE u.wallet = a.wallet), 0) AS "storedBytes",
    coalesce((SELECT proofs FROM waiting w WHERE w.wallet = a.wallet), 0) AS queued,
    (SELECT CAST(coalesce(sum(anchors), 0) AS bigint) FROM anchor_days d
     WHERE d.scope = a.wallet AND d.at >= $1) AS anchors,
    (SELECT count(*) FROM ledger e WHERE ${UNCOVERED} AND e.kind = 'release') AS returned,
    (SELECT coalesce(sum(${EXCESS}), 0) FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     JOIN leaves l ON l.task_id = e.task_id AND l.live JOIN attempts t ON t.id = l.attempt_id
     WHERE ${UNCOVERED} AND e.kind = 'settle' AND ${EXCESS} > 0) AS "uncoveredWei"
  FROM accounts a`;

export const BALANCE_COLUMNS = `wallet, anchor_quota AS "anchorQuota", gas_credit_wei AS "gasCreditWei"`;

export function toBalance<Row extends InText<Balance>>({ gasCreditWei, ...row }: Row) {
  return { ...row, gasCreditWei: BigInt(gasCreditWei) };
}

/** A change of an account's balance; amounts are signed. */
export interface BalanceChange {
  wallet: string;
  anchors: number;
  gasWei: bigint;
}

type OfTask = { kind: 'reserve' | 'settle' | 'release'; taskId: string; cycle: number };
type OfGrant = { kind: 'grant' | 'revoke'; grantId: string; note: string };

export type LedgerEntry = BalanceChange & { at: number } & (
    | (OfTask & { grantId?: never; note?: never })
    | (OfGrant & { taskId?: never; cycle?: never })
  );

export interface Reservation {
  wallet: string;
  cycle: number;
  gasWei: bigint;
}

type GrantEntry = LedgerEntry & OfGrant;
export type GrantRow = InText<Pick<GrantEntry, 'kind' | 'wallet' | 'anchors' | 'gasWei' | 'note'>>;

export function grantEntry({ id, wallet, anchors, gasWei, note, now }: Grant): GrantEntry {
  return { kind: 'grant', wallet, anchors, gasWei, grantId: id, note, at: now };
}

export function revokeEntry(grant: Grant): GrantEntry {
  const { anchors, gasWei } = grant;
  return { ...grantEntry(grant), kind: 'revoke', anchors: 0 - anchors, gasWei: -gasWei };
}

/** @throws SvcError `id_conflict` */
export function requireSameGrant(stored: GrantRow, entry: GrantEntry): void {
  const isSame =
    stored.kind === entry.kind &&
    stored.wallet === entry.wallet &&
    stored.anchors === entry.anchors &&
    BigInt(stored.gasWei) === entry.gasWei &&
    stored.note === entry.note;
  if (!isSame) throw wireError('id_conflict', 'The id is already used with other content.');
}

/** @throws SvcError `invalid_request` */
export function requireRoom(balance: Balance, grant: Grant): void {
  const anchors = balance.anchorQuota + grant.anchors;
  if (grant.anchors < 0 || grant.gasWei < 0n || !Number.isSafeInteger(anchors)) {
    throw wireError(
      'invalid_request',
      'A grant must not be negative, and the balance must be at most 2^53 - 1 anchors.',
    );
  }
}

/** The balance has no reserved credits, so these stay. @throws SvcError `invalid_request` */
export function requireCredits({ anchorQuota, gasCreditWei }: Balance, grant: Grant): void {
  const { anchors, gasWei } = grant;
  const isAmount = Number.isSafeInteger(anchors) && anchors >= 0 && gasWei >= 0n;
  if (isAmount && anchors <= anchorQuota && gasWei <= gasCreditWei) return;
  throw wireError(
    'invalid_request',
    `Nothing was revoked: the account has ${anchorQuota} anchors and ${gasCreditWei} wei that are not reserved.`,
  );
}

/** The charge of a settled leaf, and what the account gets back of its reservation. */
interface Charge extends Reservation {
  taskId: string;
  chargeWei: bigint;
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

export type SessionRow = Omit<SessionRecord, 'isSuspended'> & { suspendedAt: number | null };

export const SESSION_COLUMNS = `id, wallet, signed_in_with AS "signedInWith", created_at AS "createdAt",
  expires_at AS "expiresAt", name, scope, last_used_at AS "lastUsedAt",
  (SELECT coalesce(suspended_at, deleting_at) FROM accounts WHERE accounts.wallet = sessions.wallet)
    AS "suspendedAt"`;

export function toSession({ suspendedAt, ...row }: SessionRow): SessionRecord {
  return { ...row, isSuspended: suspendedAt !== null };
}

/** Kept challenges: of one wallet for one source, and of one source for all wallets. */
export const keptChallenges = { ofWallet: limits.challengesPerSource, ofSource: 1_000 };

/** The period of the daily limit of sign-up grants. */
export const DAY_MS = 24 * 60 * 60_000;

/** The key of the counter of challenge requests. */
export function challengeCounter(wallet: string, device: string | null): string {
  return device === null ? wallet : `${wallet} ${device}`;
}

/** Calls allowed per window. */
export const rateLimits = {
  challenge: limits.challengesPerWindow,
  account: limits.accountMutationsPerWindow,
  robot: limits.robotCallsPerWindow,
} as const;

export type RateScope = keyof typeof rateLimits;

/** The state of a counter in the window of `now`. Windows start at full minutes of the clock. */
export function rateCount(
  scope: RateScope,
  { used, allowed, now }: { used: number; allowed: boolean; now: number },
): RateCount {
  const limit = rateLimits[scope];
  return {
    allowed,
    limit,
    remaining: limit - used,
    resetMs: limits.windowMs - (now % limits.windowMs),
  };
}
