import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { usageErrors } from '../../src/server/store/storage-usage.ts';
import { placesNotIn, templatesFor } from './templates.ts';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.ts';

/** Walks that stay short: tables of one row or few, and walks that a LIMIT or the queue itself bounds. */
const shortWalks = [
  'SCAN challenge_count',
  'SCAN chain_identity',
  'SCAN chain_status',
  'SCAN write_probe',
  // Once, when the store is opened.
  'SCAN sqlite_schema',
  'SCAN rate_counters',
  // The refused tasks of an account, at most a limit of them.
  'SCAN first',
  // The newest error of a robot, and its newest claimed task.
  'SCAN newest_error',
  'SCAN current_task',
  // One row for each account that ever anchored.
  'SCAN leases',
  'SCAN anchoring_accounts',
  'USE TEMP B-TREE FOR DISTINCT',
  'USE TEMP B-TREE FOR ORDER BY',
  // Inside of one block.
  'USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  'SCAN json_each VIRTUAL TABLE INDEX 1:',
  'SCAN g VIRTUAL TABLE INDEX 1:',
  // One row.
  'SCAN signed',
  // The index holds the open ones alone.
  'SCAN attempts USING INDEX attempts_open',
  // The index holds those alone that are not final yet.
  'SCAN attempts USING COVERING INDEX attempts_included',
  // The index holds the webhooks that failed alone.
  'SCAN webhooks USING INDEX webhooks_failed',
  // A slice of an evaluation of the alert rules.
  'SCAN w',
  'SCAN c',
  // At most a limit of each.
  'SCAN due',
  // In the order of a LIMIT.
  'SCAN chain_proofs USING INDEX chain_proofs_missing',
  'SCAN missing',
  'SCAN newest',
  'SCAN of_robot',
  'SCAN claimed',
  'SCAN verified',
  'SCAN waiting',
  'SCAN oldest',
  'SCAN challenges',
  // At most 1000 rows.
  'SCAN cli_codes USING COVERING INDEX cli_codes_source',
  // One row for each account, once in 5 s.
  'SCAN u',
  'SCAN CONSTANT ROW',
  'SCAN accounts USING INDEX accounts_deleting',
  // Once for each clock that an operator confirms.
  'SCAN a',
  // One row for each anchor signed in the last hour.
  'SCAN anchor_spend',
  // One row for each attempt that is being put together.
  'SCAN assignments',
  'SCAN completions USING INDEX completions_queue',
  'SCAN completions USING COVERING INDEX completions_queue',
];

/** Tests the plans of the statements. Call it after the tests that run them. */
export function sqlitePlans(ran: ReadonlySet<string>): void {
  let temporary: TemporarySqlite;
  let db: Database.Database;
  let statements: string[];

  beforeAll(async () => {
    temporary = await openTemporarySqlite({ now: () => 0 });
    // The second time there is nothing to migrate.
    const prepared = vi.spyOn(Database.prototype, 'prepare');
    await temporary.reopen();
    const atOpening = prepared.mock.calls.map(([text]) => text);
    prepared.mockRestore();
    const all = new Set([...atOpening, ...ran]);
    statements = [...all].filter((text) =>
      /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH RECURSIVE)/.test(text),
    );
    db = new Database(temporary.path);
  });
  afterAll(async () => {
    db.close();
    await temporary.close();
  });

  function planOf(sql: string): string[] {
    return db
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(Array(sql.split('?').length - 1).fill(null))
      .map(({ detail }) => detail);
  }

  it('finds every row by an index, so that no query grows with history', () => {
    // A recount reads everything that accounts store.
    const bounded = statements.filter((sql) => sql !== usageErrors);
    const walks = bounded.flatMap((sql) =>
      planOf(sql)
        .filter((detail) => /^(SCAN|USE TEMP)/.test(detail) && !shortWalks.includes(detail))
        .map((detail) => `${detail}: ${sql}`),
    );

    expect(statements.length).toBeGreaterThan(50);
    expect(walks).toEqual([]);
  });

  it('runs every template of a statement', () => {
    expect(placesNotIn([...ran], templatesFor('sqlite'))).toEqual([]);
  });

  it.each([
    ['tasks', /WHERE t\.id = \?$/, 'SEARCH t USING INDEX sqlite_autoindex_tasks_1'],
    ['sessions', /FROM sessions\s+WHERE token_hash/, 'SEARCH sessions USING INDEX'],
    ['robots by key', /FROM robots WHERE key_hash/, 'SEARCH robots USING INDEX'],
    ['robots of an account', /FROM robots WHERE wallet = \? AND id > /, 'INDEX robots_wallet'],
    ['tasks of an account', /created_at FROM tasks\s+WHERE wallet = \?/, 'INDEX tasks_wallet'],
    ['tasks of a robot', /FROM tasks\s+WHERE robot_id = \?/, 'INDEX tasks_robot'],
    [
      'the ledger of an account',
      /FROM ledger l\s+WHERE wallet = \? AND seq </,
      'INDEX ledger_wallet',
    ],
    ['the ledger of a task', /FROM ledger l\s+WHERE kind = 'reserve' AND/, 'INDEX ledger_reserve'],
    ['sessions of an account', /FROM sessions\s+WHERE wallet = \?/, 'INDEX sessions_wallet'],
    ['old evidence', /FROM proofs WHERE stored_at/, 'INDEX proofs_age'],
    ['the queue', /reserve_seq AS seq FROM completions/, 'INDEX completions_queue'],
    ['what goes with a robot', /\(SELECT id FROM tasks WHERE robot_id/, 'tasks_robot (robot_id=?'],
    ['fleets in order', /FROM fleets WHERE wallet = \? AND/, 'INDEX fleets_wallet'],
    ['the robots of a fleet', /"robotCount" FROM fleets WHERE id/, 'INDEX robots_fleet'],
    ['open attempts', /AS "takenBy"/, 'INDEX attempts_open'],
    ['attempts that move', /state FROM attempts WHERE id IN/, 'sqlite_autoindex_attempts_1 (id=?)'],
    ['included attempts', /ORDER BY mined_block_number, id/, 'INDEX attempts_included'],
    ['those below a place', /\(mined_block_number, id\) </, 'AND mined_block_number<?)'],
    ['what was mined', /a\.nonce >= \? AND a\.state IN/, '(chain_id=? AND sender=? AND nonce>?)'],
    ['the first anchored', /FROM receipts WHERE proof_hash/, 'INDEX receipts_proof_hash'],
    ['the first queued', /FROM completions WHERE proof_hash/, 'INDEX completions_proof_hash'],
    ['open challenges', /FROM challenges WHERE wallet/, 'INDEX challenges_wallet'],
    [
      'samples',
      /metrics FROM telemetry\s+WHERE robot_id = \? AND recorded_at >= /,
      '(robot_id=? AND recorded_at>? AND (recorded_at,id)<(?,?))',
    ],
    [
      'roll-ups',
      /FROM telemetry_rollups\s+WHERE .* at < /,
      'USING PRIMARY KEY (robot_id=? AND res',
    ],
    [
      'events',
      /WHERE \(robot_id, severity\) = \(robots\.id, \?\)[\s\S]+FROM robots WHERE wallet/,
      'INDEX events_robot_severity (robot_id=? AND severity=? AND rowid<?)',
    ],
    [
      'events of a type',
      /WHERE \(robot_id, event_type\) = /,
      'robot_id=? AND event_type=? AND rowid<?',
    ],
    [
      'hours',
      /error FROM activity_hours/,
      'SEARCH activity_hours USING PRIMARY KEY (scope=? AND at>?)',
    ],
    [
      'waiting proofs',
      /queued_at AS at FROM completions/,
      'INDEX completions_waiting ((queued_at,task_id)>(?,?))',
    ],
    [
      'failed proofs',
      /updated_at AS at FROM completions/,
      'INDEX completions_failed ((updated_at,task_id)>(?,?))',
    ],
    [
      'old messages',
      /state <> 'pending' AND created_at </,
      'INDEX webhook_deliveries_age (created_at<?)',
    ],
    ['rules', /b\.battery_pct/, 'SEARCH r USING PRIMARY KEY (wallet=? AND kind=?)'],
    ['accounts with rules', /RECURSIVE watched/, 'SEARCH alert_rules USING PRIMARY KEY (wallet>?)'],
    [
      'accounts with alerts',
      /RECURSIVE watched/,
      'SEARCH alerts USING INDEX alerts_wallet_open (wallet>?)',
    ],
    [
      'accounts with failures',
      /RECURSIVE watched/,
      'SEARCH webhooks USING INDEX webhooks_failed (wallet>?)',
    ],
    [
      'due webhooks',
      /AS due UNION ALL/,
      'SEARCH w USING INDEX webhooks_due (funded=? AND next_at<?)',
    ],
    [
      'webhooks of a wrong clock',
      /AS due UNION ALL/,
      'webhooks_due (funded=? AND next_at>? AND next_at<?)',
    ],
    [
      'webhooks deferred by a wrong clock',
      /AS due UNION ALL/,
      'webhooks_healthy (funded=? AND next_at>? AND next_at<?)',
    ],
    ['refused tasks', /AS tasks, min\(at\)/, 'COVERING INDEX tasks_refused (wallet=?'],
    [
      'reported hours',
      /AND at >= \? AND at < \? ORDER BY at LIMIT/,
      'resolution=? AND at>? AND at<?',
    ],
    ['errors', /SELECT seq, event_type AS "eventType", occurred_at/, 'INDEX events_robot_severity'],
    [
      'claims of a period',
      /c\.outcome FROM tasks t LEFT/,
      'INDEX tasks_wallet (wallet=? AND status=?',
    ],
    [
      'charges of a period',
      /s\.kind = 'settle'/,
      'INDEX ledger_settled (wallet=? AND at>? AND at<?)',
    ],
    ['tasks by status', /task_counts c ON/, 'SEARCH c USING PRIMARY KEY (robot_id=?)'],
  ])('reads %s by the index meant for it', (_what, query, index) => {
    const sql = statements.find((text) => query.test(text.replaceAll(/\s+/g, ' '))) ?? 'SELECT 1';

    expect(planOf(sql).join('\n')).toContain(index);
  });
}
