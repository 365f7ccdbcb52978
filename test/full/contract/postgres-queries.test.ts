import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Sql } from '../../../src/server/store/postgres/engine/connections.ts';
import { addColumns } from '../../support/newer-version.ts';
import {
  isPlanned,
  nodesOf,
  openPlanner,
  type Plan,
  type Planner,
  walksIn,
} from './postgres-plans.ts';
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

let temporary: Awaited<ReturnType<typeof openTemporaryPostgres>>;
let planner: Planner;
const plans = new Map<string, Plan[]>();

beforeAll(async () => {
  temporary = await openTemporaryPostgres({ now: () => 0 });
  planner = await openPlanner(temporary.url);
  for (const text of statements) plans.set(text, await planner.planOf(text));
});
afterAll(async () => {
  await planner.client.end();
  await temporary.close();
});

it('finds every row by an index, so that no query grows with history', () => {
  expect(plans.size).toBeGreaterThan(50);
  expect(walksIn(plans)).toEqual([]);
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
it('keeps using prepared statements after a newer version has added columns', async () => {
  const planned = [...statements].filter(isPlanned);
  for (const [i, text] of planned.entries())
    await planner.client.query(`PREPARE kept_${i} AS ${text}`);

  await planner.client.query(addColumns);

  const refused: string[] = [];
  for (const [i, text] of planned.entries()) {
    await planner
      .explain(`kept_${i}`, text)
      .catch((error) => refused.push(`${error.message}: ${text}`));
  }
  expect(refused).toEqual([]);
});
