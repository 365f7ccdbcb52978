import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/server/ports/store.ts';
import { statements } from '../../src/server/store/invariants/statements.ts';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';
import { createTestClock } from '../support/clock.ts';
import { writeHistory } from './store-history.ts';
import { openTemporarySqlite } from './temporary-sqlite.ts';
import { randomHash, World } from './world.ts';

let lived: string;
let path: string;
let store: Store;

beforeAll(async () => {
  const world = await World.open(async (clock) => {
    const temporary = await openTemporarySqlite(clock);
    path = temporary.path;
    return temporary;
  });
  await writeHistory(world);
  await world.store.close();
  lived = join(await mkdtemp(join(tmpdir(), 'svc-lived-')), 'svc.db');
  await copyFile(path, lived);
  await world.close();
});
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'svc-damaged-')), 'svc.db');
  await copyFile(lived, path);
  const onFatal = (error: Error) => expect.unreachable(String(error));
  store = await openSqliteStore({ path, clock: createTestClock(), serves: true, onFatal });
});
afterEach(async () => {
  await store.close();
  await rm(dirname(path), { recursive: true });
});

/** Breaks what the schema itself would refuse. */
function damage(sql: string): void {
  const db = new Database(path);
  db.pragma('foreign_keys = OFF');
  db.pragma('ignore_check_constraints = ON');
  db.exec('DROP TRIGGER ledger_no_update; DROP TRIGGER ledger_no_delete');
  db.exec(sql);
  db.close();
}

/** Of `EXPLAIN QUERY PLAN`. */
interface PlanRow {
  id: number;
  parent: number;
  detail: string;
}

const aSettled = `(SELECT task_id FROM receipts LIMIT 1)`;
const aSubmitted = `(SELECT task_id FROM completions WHERE state = 'submitted' LIMIT 1)`;
const aFailed = `(SELECT task_id FROM completions WHERE state = 'failed' LIMIT 1)`;
const ofFleets = 'IN (SELECT id FROM fleets)';
const ofBatch = `(SELECT id FROM attempts WHERE root IS NOT NULL LIMIT 1)`;

describe('the check of the invariants', () => {
  it('finds nothing in a sound database', async () => {
    expect(await store.checkInvariants()).toEqual([]);
  });

  it.each([
    ['ledger_sums_equal_balances', 'UPDATE accounts SET anchor_quota = anchor_quota + 1'],
    ['ledger_sums_equal_balances', `UPDATE accounts SET gas_credit_wei = gas_credit_wei || '0'`],
    ['ledger_sums_equal_balances', 'DELETE FROM accounts'],
    ['ledger_never_negative', `UPDATE ledger SET gas_wei = '5' WHERE kind = 'grant'`],
    ['balances_not_negative', `UPDATE accounts SET gas_credit_wei = '-1'`],
    [
      'accounts_without_ledger_are_empty',
      `INSERT INTO accounts VALUES ('0x1', 1, '0', 0, NULL, 0, NULL, NULL, NULL)`,
    ],
    ['settle_and_release_need_their_reserve', `UPDATE ledger SET cycle = 9 WHERE kind = 'settle'`],
    [
      'reserve_ends_once',
      `INSERT INTO ledger (wallet, kind, anchors, gas_wei, task_id, cycle, at)
       SELECT wallet, 'release', 1, '0', task_id, cycle, 0 FROM ledger WHERE kind = 'settle'`,
    ],
    ['verified_task_is_settled_once', `DELETE FROM ledger WHERE kind = 'settle'`],
    ['failed_cycle_is_released', `DELETE FROM ledger WHERE kind = 'release'`],
    ['open_cycle_is_only_reserved', `UPDATE tasks SET status = 'claimed'`],
    ['completion_has_its_reserve', `UPDATE completions SET reserve_seq = reserve_seq + 1000`],
    ['open_reserve_has_its_proof', `DELETE FROM completions WHERE state = 'queued'`],
    ['verified_means_receipt', `DELETE FROM receipts WHERE task_id = ${aSettled}`],
    ['verified_means_receipt', `UPDATE tasks SET status = 'verified' WHERE id = ${aSubmitted}`],
    ['verified_means_receipt', `UPDATE tasks SET status = 'verified' WHERE id = ${aFailed}`],
    ['receipt_matches_mined_variant', `UPDATE receipts SET proof_hash = '${randomHash()}'`],
    [
      'receipt_matches_mined_variant',
      `UPDATE attempts SET mined_tx_hash = '${randomHash()}'
       WHERE mined_tx_hash IS NOT NULL`,
    ],
    [
      'one_live_leaf',
      `DROP INDEX leaves_live;
       INSERT INTO leaves (attempt_id, leaf_index, task_id, leaf, path, generation)
       SELECT attempt_id, leaf_index + 50, task_id, leaf, path, 1 FROM leaves LIMIT 1`,
    ],
    ['live_leaf_follows_state', `UPDATE leaves SET live = 0 WHERE task_id = ${aSubmitted}`],
    [
      'live_leaf_follows_state',
      `UPDATE completions SET state = 'queued' WHERE task_id = ${aSubmitted}`,
    ],
    ['live_leaf_follows_state', `UPDATE attempts SET state = 'signed'`],
    [
      'anchored_once',
      `INSERT INTO attempts SELECT 'twin', chain_id, sender, 99, state, payload, root, leaf_count,
         0, created_at, updated_at, 'other', mined_block_number, mined_block_hash, mined_tx_index,
         mined_at, gas_used, effective_gas_price, data_fee_wei, cost_wei, safe, free_leaf_count
       FROM attempts WHERE state = 'included' LIMIT 1;
       INSERT INTO leaves (attempt_id, leaf_index, task_id, leaf, path, generation, live)
       SELECT 'twin', leaf_index, task_id, leaf, path, 7, 0 FROM leaves
       WHERE task_id = ${aSettled}`,
    ],
    ['anchored_leaf_is_live', `UPDATE leaves SET live = 0 WHERE task_id = ${aSettled}`],
    ['dead_attempt_has_no_live_leaf', `UPDATE attempts SET state = 'dead'`],
    ['leaf_has_its_attempt', `UPDATE leaves SET attempt_id = 'gone' WHERE attempt_id = ${ofBatch}`],
    [
      'assignment_is_unfinished',
      'INSERT INTO assignments SELECT id, chain_id, sender FROM attempts LIMIT 1',
    ],
    [
      'unsettled_leaves_are_counted',
      'UPDATE attempts SET unsettled_leaves = 1 - min(unsettled_leaves, 1)',
    ],
    ['attempt_has_a_variant', 'UPDATE variants SET seq = seq + 5'],
    ['completion_states_are_stored_ones', `UPDATE completions SET state = 'reorged'`],
    ['generation_counts_replaced_nonces', 'UPDATE completions SET generation = 5'],
    [
      'receipt_follows_the_live_leaf',
      `UPDATE receipts SET attempt_id = (SELECT id FROM attempts WHERE state = 'submitted')
       WHERE task_id = ${aSettled}`,
    ],
    ['safe_attempt_is_mined', `UPDATE attempts SET safe = 1 WHERE state = 'submitted'`],
    ['variants_get_dearer', `UPDATE variants SET max_priority_fee_per_gas = '1' WHERE seq = 1`],
    ['variants_get_dearer', 'UPDATE variants SET seq = 7 WHERE seq = 1'],
    ['nonces_are_contiguous', 'UPDATE attempts SET nonce = nonce + 10 WHERE nonce = 2'],
    ['attempts_belong_to_the_chain', `INSERT INTO chain_identity VALUES (1, 1, '0x', 0)`],
    [
      'settled_leaf_is_in_the_ledger',
      `DELETE FROM ledger WHERE kind = 'settle' AND task_id IN (SELECT task_id FROM tombstones)`,
    ],
    ['deleted_task_is_buried', 'DELETE FROM tombstones'],
    ['buried_task_is_gone', 'INSERT INTO tombstones SELECT id, 0 FROM tasks LIMIT 1'],
    ['robot_is_in_a_fleet_of_its_account', `UPDATE robots SET fleet_id = 'f'`],
    [
      'robot_is_in_a_fleet_of_its_account',
      `UPDATE robots SET fleet_id = (SELECT id FROM fleets WHERE wallet <> robots.wallet)`,
    ],
    ['challenges_are_counted', 'UPDATE challenge_count SET total = total + 1'],
    ['counts_are_kept', 'UPDATE proof_hashes SET occurrences = 2'],
    ['counts_are_kept', 'UPDATE task_counts SET claimed = claimed + 1'],
    ['counts_are_kept', 'DELETE FROM task_counts'],
    ['anchor_days_follow_ledger', 'UPDATE anchor_days SET anchors = anchors + 1'],
    ['anchor_days_follow_ledger', `UPDATE anchor_days SET gas_wei = gas_wei || '0'`],
    ['anchor_days_follow_ledger', 'DELETE FROM anchor_days'],
    ['fleets_within_accounts', `UPDATE anchor_days SET anchors = 9 WHERE scope ${ofFleets}`],
    [
      'fleets_within_accounts',
      `UPDATE anchor_days SET gas_wei = gas_wei || '0' WHERE scope ${ofFleets}`,
    ],
    ['fleets_within_accounts', `UPDATE activity_hours SET samples = 9 WHERE scope ${ofFleets}`],
    ['fleets_within_accounts', `UPDATE activity_hours SET warn = 9 WHERE scope ${ofFleets}`],
    ['activity_covers_robots', 'UPDATE activity_hours SET samples = 0'],
    ['activity_covers_robots', 'UPDATE activity_hours SET warn = 0'],
    ['activity_covers_robots', 'DELETE FROM activity_hours'],
    ['rollups_follow_samples', 'UPDATE telemetry_rollups SET samples = samples + 1'],
    ['rollups_follow_samples', `DELETE FROM telemetry_rollups WHERE resolution = 'minute'`],
    ['rollups_follow_samples', `UPDATE telemetry_rollups SET states = 'no JSON'`],
    ['rollups_follow_samples', `UPDATE telemetry_rollups SET states = '{}'`],
    [
      'rollups_follow_samples',
      `UPDATE telemetry_rollups SET states = json_set(states, '$.idle', 9)`,
    ],
    ['rollups_follow_samples', `UPDATE telemetry_rollups SET metrics = '{}'`],
    ['rollups_follow_samples', `UPDATE telemetry_rollups SET metrics = '{"t":null}'`],
    [
      'rollups_follow_samples',
      `UPDATE telemetry_rollups SET metrics = json_set(metrics, '$.unheard', json('[1,1,1,1]'))`,
    ],
    ['rollups_follow_samples', 'UPDATE telemetry_rollups SET battery = NULL'],
    // The sum of a day.
    [
      'rollups_follow_samples',
      `UPDATE telemetry_rollups SET metrics = json_set(metrics, '$.t[3]', 0.2)
       WHERE resolution = 'day'`,
    ],
    ['rollups_follow_samples', 'UPDATE telemetry SET battery_pct = 51'],
    [
      'rollups_follow_samples',
      `UPDATE telemetry SET metrics = '{"t":0.10000000000000002}' WHERE metrics = '{"t":0.1}'`,
    ],
    ['rollups_follow_samples', `UPDATE telemetry SET state = 'unheard'`],
    ['rollups_follow_samples', 'DELETE FROM telemetry'],
    [
      'rollups_follow_samples',
      'DELETE FROM telemetry WHERE recorded_at = (SELECT max(recorded_at) FROM telemetry)',
    ],
    ['charges_follow_cost', `UPDATE attempts SET cost_wei = '9' WHERE cost_wei IS NOT NULL`],
    ['charges_follow_cost', `UPDATE ledger SET gas_wei = '1' WHERE kind = 'release'`],
    ['proofs_match_their_hash', `UPDATE proofs SET sealed = zeroblob(length(sealed))`],
    ['proofs_match_their_hash', 'UPDATE proof_keys SET key = zeroblob(32)'],
    ['key_of_erased_evidence_is_gone', 'INSERT INTO proof_keys (key) VALUES (randomblob(32))'],
    ['payloads_rebuild_from_leaves', `UPDATE attempts SET payload = replace(payload, 'a', 'b')`],
    ['payloads_rebuild_from_leaves', `UPDATE leaves SET path = x'' WHERE attempt_id = ${ofBatch}`],
    [
      'payloads_rebuild_from_leaves',
      `UPDATE leaves SET leaf = '${randomHash()}'
       WHERE attempt_id = ${ofBatch}`,
    ],
    ['payloads_rebuild_from_leaves', `UPDATE completions SET claim_hash = '${randomHash()}'`],
    ['payloads_rebuild_from_leaves', `DELETE FROM leaves WHERE leaf_index = 0`],
    ['final_attempt_is_due_or_proven', 'DELETE FROM chain_proofs WHERE header IS NULL'],
    ['final_attempt_is_due_or_proven', `UPDATE attempts SET state = 'included'`],
    [
      'chain_proofs_lead_to_transactions',
      `UPDATE chain_proofs SET header = replace(header, '1', '2')`,
    ],
    ['chain_proofs_lead_to_transactions', `UPDATE chain_proofs SET nodes = '[]' WHERE nodes <> ''`],
    ['chain_proofs_lead_to_transactions', `UPDATE variants SET raw_tx = '0x02'`],
    ['chain_proofs_lead_to_transactions', 'UPDATE attempts SET mined_tx_index = 0'],
    ['file_is_sound', 'DELETE FROM robots'],
  ])('reports if %s does not hold (%#)', async (invariant, sql) => {
    damage(sql);

    const findings = await store.checkInvariants();

    const found = findings.find((finding) => finding.invariant === invariant);
    expect(found?.violations[0], JSON.stringify(findings)).toMatch(/^\S+ .+/);
  });

  it.each(Object.entries(statements))(
    'reads the rows of a large database once for %s',
    (_, text) => {
      const db = new Database(path, { readonly: true });
      const plan = db.prepare<[], PlanRow>(`EXPLAIN QUERY PLAN ${text}`).all();
      db.close();

      // Rows of one loop have the same parent, and what runs for each row of a loop is correlated. One row needs no index.
      const walks = plan.filter(({ detail }) => /^SCAN (?!i$)/.test(detail));
      const parents = walks.map(({ parent }) => parent);
      const perRow = plan.filter(({ detail }) => detail.startsWith('CORRELATED'));
      expect(new Set(parents).size, JSON.stringify(plan)).toBe(parents.length);
      expect(perRow.filter(({ id }) => parents.includes(id))).toEqual([]);
    },
  );

  it('reports some violations in full and counts the others', async () => {
    damage(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
      INSERT INTO accounts SELECT '0x' || i, 1, '0', 0, NULL, 0, NULL, NULL, NULL FROM n`);

    const [finding] = await store.checkInvariants();

    expect(finding?.violations).toHaveLength(21);
    expect(finding?.violations.at(-1)).toBe('and 10 more');
  });
});
