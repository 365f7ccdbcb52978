import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { usageErrors } from '../../src/server/store/storage-usage.ts';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.ts';

/** A UTF-8 text of this many code points, at most. */
const text = (codePoints: number) => 4 * codePoints;
/** Other columns and index entries of a row, generously. */
const ROW = 1024;
const named = ROW + text(limits.nameLength);

/** Rows that the storage quota counts in bytes. */
const counted = ['tasks', 'proofs', 'telemetry', 'events', 'statements', 'robot_keys'];

/** At most this many bytes for an account without a grant. */
const capped: Record<string, number> = {
  accounts: ROW,
  storage_usage: ROW,
  sessions: (limits.sessionsPerAccount + limits.tokensPerAccount) * named,
  fleets:
    limits.fleetsPerAccount *
    (named +
      text(limits.descriptionLength + limits.locationLength + limits.shiftLength) +
      limits.tagsPerFleet * text(limits.tagLength)),
  robots: limits.robotsPerAccount * (named + text(limits.descriptionLength)),
  audit_log: limits.auditLogEntries * 512,
  alert_rules: 10 * ROW,
  alerts: limits.alertsKept * 256,
  webhooks: limits.webhooksWithoutGrant * (ROW + 2000),
  webhook_deliveries: limits.webhooksWithoutGrant * limits.webhookBytesWithoutGrant,
};

/** Rows of which a counted row or a granted credit allows a fixed number, each of bounded size. */
const derived = {
  tasks: ['completions', 'task_counts', 'proof_hashes', 'proof_keys', 'leaves', 'receipts'],
  samples: ['telemetry_rollups', 'telemetry_horizons', 'activity_hours'],
  anchors: ['ledger', 'anchor_days', 'attempts', 'variants', 'chain_proofs', 'anchor_spend'],
  robots: ['robot_traces'],
  statements: ['free_leaves'],
};

/** One row of some 50 bytes for each deleted task and robot, which no quota counts: ids of receipts stay taken. */
const uncounted = ['tombstones', 'robot_tombstones'];

/** Bounded for all strangers together. */
const shared = ['challenges', 'challenge_count', 'spent_challenges', 'cli_codes', 'rate_counters'];

/** Rows that no account writes. */
const ofTheService =
  `alert_watch anchoring_accounts assignments chain_identity chain_status challenge_key checked_time
  cursor_key file_identity foreign_nonces leases queue_round reconciled_senders restoration write_probe`.split(
    /\s+/,
  );

let temporary: TemporarySqlite;
let tables: string[];
beforeAll(async () => {
  temporary = await openTemporarySqlite({ now: () => 0 });
  const db = new Database(temporary.path, { readonly: true });
  tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all() as string[];
  db.close();
});
afterAll(() => temporary.close());

describe('the bytes that an account can add to a database', () => {
  it('are known for each table', () => {
    const known = [counted, Object.keys(capped), ...Object.values(derived), uncounted, shared];

    expect([...known, ofTheService].flat().sort()).toEqual(tables.sort());
  });

  it('are counted by the storage quota for claims, evidence, samples and events', () => {
    for (const table of counted) expect(usageErrors).toMatch(new RegExp(`FROM ${table}\\b`));
  });

  it('are at most 30 MiB elsewhere without a grant, of which messages are 1 MiB', () => {
    const sum = Object.values(capped).reduce((all, bytes) => all + bytes, 0);

    expect(sum).toBeLessThan(30 * 1024 * 1024);
    expect(capped.webhook_deliveries).toBe(1024 * 1024);
  });
});
