// Accounts as the operator sees them: balance, usage and suspension.
import type { AccountUsage } from '../../protocol/operator-api.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { AccountSummary, Balance } from '../ports/account.ts';
import type { Actor } from '../ports/audit-log.ts';
import { wireError } from '../ports/errors.ts';
import type { Store } from '../ports/store.ts';

/** All accounts, in the order of their wallets. */
export async function listAccounts(store: Store, now: number): Promise<AccountUsage[]> {
  return (await store.summarizeAccounts(now)).map(viewAccount);
}

/** Throws `not_found`. */
export async function showAccount(
  store: Store,
  wallet: string,
  now: number,
): Promise<AccountUsage> {
  const [found] = await store.summarizeAccounts(now, wallet);
  if (found === undefined) throw noAccount(wallet);
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

export function viewBalance({ wallet, anchorQuota, gasCreditWei }: Balance) {
  return { wallet, anchor_quota: anchorQuota, gas_credit_wei: String(gasCreditWei) };
}

function viewAccount(account: AccountSummary): AccountUsage {
  const { createdAt, suspendedAt, robots, storedBytes, queued, anchors } = account;
  return {
    ...viewBalance(account),
    created_at: formatTimestamp(createdAt),
    suspended_at: suspendedAt === null ? null : formatTimestamp(suspendedAt),
    robots,
    stored_bytes: storedBytes,
    queued_proofs: queued,
    anchors_30_days: anchors,
  };
}

function noAccount(wallet: string) {
  return wireError('not_found', `The wallet ${wallet} has no account.`);
}

/** The error of a call that a suspended account may not make. */
export function accountSuspended() {
  return wireError(
    'account_suspended',
    'The operator suspended this account. Its data can be read; contact the operator to resume it.',
  );
}
