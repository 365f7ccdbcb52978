import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Sql } from '../../../src/server/store/postgres/engine/connections.ts';
import { addColumns } from '../../support/newer-version.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

const { statements } = vi.hoisted(() => ({ statements: new Set<string>() }));
vi.mock('../../../src/server/store/postgres/engine/connections.ts', async (original) => {
  const actual = await original<{ sql: (text: string) => Sql }>();
  const sql = (text: string) => {
    statements.add(text);
    return actual.sql(text);
  };
  return { ...actual, sql };
});

// Its queries are to walk everything.
vi.mock('../../../src/server/store/postgres/engine/check.ts', () => ({
  checkDatabase: async () => [],
}));

/** Walks that stay short: tables of one row or few, and walks that a LIMIT or the index itself bounds. */
const shortWalks: readonly string[] = [
  'chain_identity',
  'chain_status',
  'svc_schema',
  // One row for each account that ever anchored.
  'leases',
  'leases_pkey',
  'anchoring_accounts',
  'anchoring_accounts_changed_in_key',
  'reconciled_senders',
  // These indexes hold only what is under way.
  'attempts_included',
  'attempts_open',
  'completions_queue',
  'completions_waiting',
  'webhooks_failed',
  'webhook_deliveries_new',
  'accounts_deleting',
  // One row for each anchor signed in the last hour.
  'anchor_spend',
  // In the order of a LIMIT.
  'chain_proofs_missing',
  'challenges_pkey',
  // At most 1000 rows.
  'cli_codes_source',
  'events_pkey',
  'robot_traces_pkey',
  // One row for each account, once in 5 s.
  'storage_usage',
  'storage_usage_pkey',
];

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: Plan[];
}

let temporary: Awaited<ReturnType<typeof openTemporaryPostgres>>;
let client: pg.Client;
const plans = new Map<string, Plan[]>();

beforeAll(async () => {
  temporary = await openTemporaryPostgres({ now: () => 0 });
  client = new pg.Client({ connectionString: temporary.url });
  await client.connect();
  // Of empty tables no walk is dear: so one is planned only where no index serves.
  for (const way of ['seqscan', 'hashjoin', 'mergejoin', 'hashagg']) {
    await client.query(`SET enable_${way} = off`);
  }
  await client.query('SET plan_cache_mode = force_generic_plan');
  for (const text of statements) plans.set(text, await planOf(text));
});
afterAll(async () => {
  await client.end();
  await temporary.close();
});

const isPlanned = (text: string) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(text);

async function planOf(text: string): Promise<Plan[]> {
  if (!isPlanned(text)) return [];
  await client.query(`PREPARE statement AS ${text}`);
  const plan = await explain('statement', text);
  await client.query('DEALLOCATE statement');
  return plan;
}

/** Of what was prepared under that name. */
async function explain(name: string, text: string): Promise<Plan[]> {
  const values = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, place]) => Number(place)));
  const given = values === 0 ? '' : `(${Array(values).fill('NULL').join(', ')})`;
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE ${name}${given}`);
  return rows[0]['QUERY PLAN'].flatMap(({ Plan }: { Plan: Plan }) => nodesOf(Plan));
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** The table or index that is read from one end to the other. */
function walkOf(node: Plan): string | null {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': index } = node;
  if (type === 'Seq Scan') return table ?? type;
  return index !== undefined && node['Index Cond'] === undefined ? index : null;
}

/** The operator's commands for all accounts. */
const ofAllAccounts = /FROM accounts a ORDER BY a.wallet$/;

it('finds every row by an index, so that no query grows with history', () => {
  const ofCallers = [...plans].filter(([text]) => !ofAllAccounts.test(text));
  const walks = ofCallers.flatMap(([text, nodes]) =>
    nodes.flatMap((node) => {
      const walk = walkOf(node);
      return walk === null || shortWalks.includes(walk) ? [] : [`${walk}: ${text}`];
    }),
  );

  expect(plans.size).toBeGreaterThan(50);
  expect(walks).toEqual([]);
});

it.each([
  ['the queue', /SKIP LOCKED[\s\S]+offered ORDER BY/, 'completions_queue'],
  ['included attempts', /state = 'included' ORDER BY mined_block_number, id/, 'attempts_included'],
  ['included attempts from the end', /ORDER BY mined_block_number DESC/, 'attempts_included'],
  ['those below a place', /\(mined_block_number, id\) </, 'attempts_included'],
  ['due webhooks', /AS due UNION ALL/, 'webhooks_due'],
  ['old messages', /state <> 'pending' AND created_at </, 'webhook_deliveries_age'],
  ['waiting proofs', /r\.kind = 'anchor_stuck'/, 'completions_waiting'],
  ['failed proofs', /r\.kind = 'anchor_failed'/, 'completions_failed'],
  ['what was mined', /a\.nonce >= \$3/, 'attempts_chain_id_sender_nonce_key'],
])('reads %s in order, by the index meant for it', (_what, query, index) => {
  const [, nodes = []] = [...plans].find(([text]) => query.test(text)) ?? [];
  const limit = nodes.find((node) => node['Node Type'] === 'Limit');
  const limited = limit === undefined ? [] : nodesOf(limit);

  expect(limited.map((node) => node['Index Name'])).toContain(index);
  // A sort reads all there is before the limit.
  expect(limited.map((node) => node['Node Type'])).not.toContain('Sort');
});

// PostgreSQL refuses a prepared statement whose columns would be others: SELECT * of a table that was altered.
it('goes on with what it has prepared when a newer version has added columns', async () => {
  const planned = [...statements].filter(isPlanned);
  for (const [i, text] of planned.entries()) await client.query(`PREPARE kept_${i} AS ${text}`);

  await client.query(addColumns);

  const refused: string[] = [];
  for (const [i, text] of planned.entries()) {
    await explain(`kept_${i}`, text).catch((error) => refused.push(`${error.message}: ${text}`));
  }
  expect(refused).toEqual([]);
});
