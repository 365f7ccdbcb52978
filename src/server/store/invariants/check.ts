// Checks the invariants of a database.

import type { CheckStore } from '../../ports/operations.ts';
import { chainProofsLead, payloadsRebuild, proofsMatchTheirHash } from './evidence.ts';
import {
  anchorDaysFollowLedger,
  chargesFollowCost,
  fleetsWithinAccounts,
  ledgerNeverNegative,
  ledgerSumsEqualBalances,
} from './ledger.ts';
import { type Invariant, type Snapshot, selecting } from './snapshot.ts';
import { statements } from './statements.ts';
import { rollupsFollowSamples } from './telemetry.ts';

export type Finding = Awaited<ReturnType<CheckStore['checkInvariants']>>[number];

/** What differs between the stores. */
interface StoreTerms {
  /** See `proofsMatchTheirHash`. */
  proofs: string;
  /** Invariants of this store only. */
  others: Record<string, Invariant>;
}

/** Violations reported in full, per invariant. */
const MAX_REPORTED = 20;

/** Returns only the violated invariants. */
export async function checkInvariants(snapshot: Snapshot, { proofs, others }: StoreTerms) {
  const invariants: Record<string, Invariant> = {
    ...others,
    ledger_sums_equal_balances: ledgerSumsEqualBalances,
    ledger_never_negative: ledgerNeverNegative,
    charges_follow_cost: chargesFollowCost,
    anchor_days_follow_ledger: anchorDaysFollowLedger,
    fleets_within_accounts: fleetsWithinAccounts,
    rollups_follow_samples: rollupsFollowSamples,
    proofs_match_their_hash: proofsMatchTheirHash(proofs),
    payloads_rebuild_from_leaves: payloadsRebuild,
    chain_proofs_lead_to_transactions: chainProofsLead,
    ...Object.fromEntries(
      Object.entries(statements).map(([name, statement]) => [name, selecting(statement)]),
    ),
  };
  const findings: Finding[] = [];
  for (const [invariant, violationsIn] of Object.entries(invariants)) {
    const violations = await report(violationsIn(snapshot));
    if (violations.length > 0) findings.push({ invariant, violations });
  }
  return findings;
}

async function report(violations: AsyncIterable<string>): Promise<string[]> {
  const first: string[] = [];
  let more = 0;
  for await (const violation of violations) {
    if (first.length < MAX_REPORTED) first.push(violation);
    else more += 1;
  }
  return more === 0 ? first : [...first, `and ${more} more`];
}
