import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { writeHistory } from '../../contract/store-history.ts';
import { randomHash, World } from '../../contract/world.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

let world: World;
let client: pg.Client;
// One life for all tests: it takes half a second, and the check changes nothing.
beforeAll(async () => {
  world = await World.open(async (clock) => {
    const opened = await openTemporaryPostgres(clock, { ownDatabase: true });
    client = new pg.Client({ connectionString: opened.url });
    return opened;
  });
  await client.connect();
  await writeHistory(world);
  await client.query(
    `CREATE SCHEMA saved; ${forEachTable('CREATE TABLE saved.%1$I AS TABLE %1$I')}`,
  );
});
afterEach(async () => {
  // At once, for the store adds to the usage of storage every few seconds.
  await client.query(`BEGIN;
    LOCK TABLE storage_usage;
    ${forEachTable('DELETE FROM %1$I')};
    ${forEachTable('INSERT INTO %1$I OVERRIDING SYSTEM VALUE SELECT * FROM saved.%1$I')};
    COMMIT`);
});
afterAll(async () => {
  expect(await world.store.checkInvariants()).toEqual([]);
  await client.end();
  await world.close();
});

/** Runs a statement, as `format` takes it, for each table of the store; no trigger runs and no order matters. */
function forEachTable(statement: string): string {
  return `DO $$
    DECLARE name text;
    BEGIN
      SET LOCAL session_replication_role = replica;
      FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition
      LOOP EXECUTE format('${statement}', name); END LOOP;
    END $$`;
}

/** Breaks what the schema itself would refuse, as the owner of the tables can. */
async function damage(statements: string): Promise<void> {
  await client.query(`DO $$
    DECLARE found record;
    BEGIN
      FOR found IN SELECT conname, conrelid::regclass AS relation FROM pg_constraint
        WHERE contype IN ('f', 'c') AND connamespace = 'public'::regnamespace AND conparentid = 0
          AND coninhcount = 0
      LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.relation, found.conname);
      END LOOP;
      FOR found IN SELECT tgname, tgrelid::regclass AS relation FROM pg_trigger
        WHERE NOT tgisinternal
      LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', found.tgname, found.relation);
      END LOOP;
    END $$`);
  await client.query(statements);
}

const aSettled = '(SELECT task_id FROM receipts LIMIT 1)';
const aSubmitted = `(SELECT task_id FROM completions WHERE state = 'submitted' LIMIT 1)`;
const ofFleets = 'IN (SELECT id::text FROM fleets)';
const ofBatch = `(SELECT a.id FROM attempts a JOIN receipts r ON r.attempt_id = a.id
  WHERE a.root IS NOT NULL LIMIT 1)`;

describe('the check of the invariants', () => {
  it('finds nothing in a sound database', async () => {
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('gathers the statistics of the ledger, which a restored database lacks', async () => {
    await client.query(`DELETE FROM pg_statistic WHERE starelid = 'ledger'::regclass`);
    await world.store.checkInvariants();
    const { rows } = await client.query(
      `SELECT attname FROM pg_stats WHERE tablename = 'ledger' AND attname = 'kind'`,
    );
    expect(rows).toHaveLength(1);
  });

  it.each([
    ['ledger_sums_equal_balances', 'UPDATE accounts SET anchor_quota = anchor_quota + 1'],
    ['ledger_sums_equal_balances', 'DELETE FROM accounts'],
    ['ledger_never_negative', `UPDATE ledger SET gas_wei = 5 WHERE kind = 'grant'`],
    ['balances_not_negative', 'UPDATE accounts SET gas_credit_wei = -1'],
    [
      'accounts_without_ledger_are_empty',
      `INSERT INTO accounts VALUES ('0x1', 1, 0, 0, NULL, 0, NULL, NULL)`,
    ],
    ['settle_and_release_need_their_reserve', `UPDATE ledger SET cycle = 9 WHERE kind = 'settle'`],
    ['verified_task_is_settled_once', `DELETE FROM ledger WHERE kind = 'settle'`],
    ['failed_cycle_is_released', `DELETE FROM ledger WHERE kind = 'release'`],
    ['open_cycle_is_only_reserved', `UPDATE tasks SET status = 'claimed'`],
    ['completion_has_its_reserve', 'UPDATE completions SET reserve_seq = reserve_seq + 1000'],
    ['open_reserve_has_its_proof', `DELETE FROM completions WHERE state = 'queued'`],
    ['verified_means_receipt', `DELETE FROM receipts WHERE task_id = ${aSettled}`],
    ['receipt_matches_mined_variant', `UPDATE receipts SET proof_hash = '${randomHash()}'`],
    ['live_leaf_follows_state', `UPDATE leaves SET live = false WHERE task_id = ${aSubmitted}`],
    ['anchored_leaf_is_live', `UPDATE leaves SET live = false WHERE task_id = ${aSettled}`],
    ['dead_attempt_has_no_live_leaf', `UPDATE attempts SET state = 'dead'`],
    ['unsettled_leaves_are_counted', 'UPDATE attempts SET unsettled_leaves = unsettled_leaves + 1'],
    ['attempt_has_a_variant', 'UPDATE variants SET seq = seq + 5'],
    ['completion_states_are_stored_ones', `UPDATE completions SET state = 'reorged'`],
    ['generation_counts_replaced_nonces', 'UPDATE completions SET generation = 5'],
    ['safe_attempt_is_mined', `UPDATE attempts SET safe = true WHERE state = 'submitted'`],
    ['variants_get_dearer', 'UPDATE variants SET max_priority_fee_per_gas = 1 WHERE seq = 1'],
    ['nonces_are_contiguous', 'UPDATE attempts SET nonce = nonce + 10 WHERE nonce = 2'],
    ['attempts_belong_to_the_chain', `INSERT INTO chain_identity VALUES (1, 1, '0x', 0)`],
    [
      'settled_leaf_is_in_the_ledger',
      `DELETE FROM ledger WHERE kind = 'settle' AND task_id IN (SELECT task_id FROM tombstones)`,
    ],
    ['deleted_task_is_buried', 'DELETE FROM tombstones'],
    ['buried_task_is_gone', 'INSERT INTO tombstones SELECT id, 0 FROM tasks LIMIT 1'],
    ['robot_is_in_a_fleet_of_its_account', 'UPDATE robots SET fleet_id = id'],
    ['counts_are_kept', 'UPDATE proof_hashes SET occurrences = 2'],
    ['counts_are_kept', 'DELETE FROM proof_hashes'],
    ['counts_are_kept', 'UPDATE task_counts SET claimed = claimed + 1'],
    ['anchor_days_follow_ledger', 'UPDATE anchor_days SET gas_wei = gas_wei + 1'],
    ['anchor_days_follow_ledger', 'DELETE FROM anchor_days'],
    ['fleets_within_accounts', `UPDATE anchor_days SET anchors = 9 WHERE scope ${ofFleets}`],
    ['fleets_within_accounts', `UPDATE activity_hours SET warn = 9 WHERE scope ${ofFleets}`],
    ['activity_covers_robots', 'UPDATE activity_hours SET samples = 0'],
    ['activity_covers_robots', 'UPDATE activity_hours SET warn = 0'],
    ['rollups_follow_samples', 'UPDATE telemetry_rollups SET samples = samples + 1'],
    ['rollups_follow_samples', `UPDATE telemetry_rollups SET states = 'no JSON'`],
    ['rollups_follow_samples', `UPDATE telemetry_rollups SET metrics = '{}'`],
    ['rollups_follow_samples', 'UPDATE telemetry SET battery_pct = 51'],
    ['rollups_follow_samples', 'DELETE FROM telemetry'],
    ['charges_follow_cost', 'UPDATE attempts SET cost_wei = 9 WHERE cost_wei IS NOT NULL'],
    ['proofs_match_their_hash', `UPDATE proofs SET key = sha256('')`],
    ['payloads_rebuild_from_leaves', `UPDATE leaves SET path = '' WHERE attempt_id = ${ofBatch}`],
    ['payloads_rebuild_from_leaves', `UPDATE completions SET claim_hash = '${randomHash()}'`],
    ['payloads_rebuild_from_leaves', 'DELETE FROM leaves WHERE leaf_index = 0'],
    ['final_attempt_is_due_or_proven', 'DELETE FROM chain_proofs WHERE header IS NULL'],
    ['final_attempt_is_due_or_proven', `UPDATE attempts SET state = 'included'`],
    [
      'chain_proofs_lead_to_transactions',
      `UPDATE chain_proofs SET header = replace(header, '1', '2')`,
    ],
    ['chain_proofs_lead_to_transactions', `UPDATE chain_proofs SET nodes = '[]' WHERE nodes <> ''`],
    ['chain_proofs_lead_to_transactions', `UPDATE variants SET raw_tx = '0x02'`],
    ['chain_proofs_lead_to_transactions', 'UPDATE attempts SET mined_tx_index = 0'],
  ])('reports if %s does not hold (%#)', async (invariant, statement) => {
    await damage(statement);

    const findings = await world.store.checkInvariants();

    const found = findings.find((finding) => finding.invariant === invariant);
    expect(found?.violations[0], JSON.stringify(findings)).toMatch(/^\S+ .+/);
  });

  it('reports some violations in full and counts the others', async () => {
    await damage(`INSERT INTO accounts
      SELECT '0x' || n, 1, 0, 0 FROM generate_series(1, 150) AS n`);

    const [finding] = await world.store.checkInvariants();

    expect(finding?.violations).toHaveLength(21);
    expect(finding?.violations.at(-1)).toBe('and 130 more');
  });
});
