import type { Database } from 'better-sqlite3';
import { activityCoversRobots, fleetsWithinAccounts } from './activity.ts';
import { payloadsRebuild, proofsMatchTheirHash } from './anchored-bytes.ts';
import type { Invariant } from './invariant.ts';
import { chargesFollowCost, ledgerNeverNegative, ledgerSumsEqualBalances } from './ledger-sums.ts';
import { anchorDaysFollowLedger } from './roll-ups.ts';
import { statedInvariants } from './stated-invariants.ts';
import { rollupsFollowSamples } from './telemetry-roll-ups.ts';

const computed: Record<string, Invariant> = {
  file_is_sound: fileIsSound,
  ledger_sums_equal_balances: ledgerSumsEqualBalances,
  ledger_never_negative: ledgerNeverNegative,
  charges_follow_cost: chargesFollowCost,
  anchor_days_follow_ledger: anchorDaysFollowLedger,
  fleets_within_accounts: fleetsWithinAccounts,
  activity_covers_robots: activityCoversRobots,
  rollups_follow_samples: rollupsFollowSamples,
  proofs_match_their_hash: proofsMatchTheirHash,
  payloads_rebuild_from_leaves: payloadsRebuild,
};

/** How many violations of one invariant are told in full. */
const MAX_TOLD = 20;

/** Looks at one moment of the database; answers only the invariants that do not hold. */
export function checkInvariants(db: Database): { invariant: string; violations: string[] }[] {
  const invariants = { ...computed, ...statedInvariants };
  return db.transaction(() =>
    Object.entries(invariants)
      .map(([invariant, violationsIn]) => ({ invariant, violations: told(violationsIn(db)) }))
      .filter(({ violations }) => violations.length > 0),
  )();
}

function told(violations: Iterable<string>): string[] {
  const first: string[] = [];
  let more = 0;
  for (const violation of violations) {
    if (first.length < MAX_TOLD) first.push(violation);
    else more += 1;
  }
  return more === 0 ? first : [...first, `and ${more} more`];
}

function* fileIsSound(db: Database): Generator<string> {
  for (const verdict of db.prepare<[], string>('PRAGMA integrity_check').pluck().iterate()) {
    if (verdict !== 'ok') yield verdict;
  }
  const orphans = db.prepare<[], { table: string; parent: string }>('PRAGMA foreign_key_check');
  for (const { table, parent } of orphans.iterate()) {
    yield `a row of ${table} has lost its row in ${parent}`;
  }
}
