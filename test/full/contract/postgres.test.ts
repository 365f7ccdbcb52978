import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeContract } from '../../contract/store.contract.ts';
import { collectStatements, placesNotIn, templatesFor } from '../../contract/templates.ts';
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

const ran = collectStatements('postgres');

storeContract('PostgreSQL', openTemporaryPostgres);

describe('the statements of the PostgreSQL store', { shuffle: false }, () => {
  let temporary: Awaited<ReturnType<typeof openTemporaryPostgres>>;
  let planner: Planner;
  const plans = new Map<string, Plan[]>();

  beforeAll(async () => {
    // Its own database: a shared one has statistics of the rows of other tests, and other plans.
    temporary = await openTemporaryPostgres({ now: () => 0 }, { ownDatabase: true });
    planner = await openPlanner(temporary.url);
    for (const text of ran) plans.set(text, await planner.planOf(text));
  });
  afterAll(async () => {
    await planner.client.end();
    await temporary.close();
  });

  it('find every row by an index, so that no query grows with history', () => {
    expect(plans.size).toBeGreaterThan(100);
    expect(walksIn(plans)).toEqual([]);
  });

  it('are all templates of the source', () => {
    expect(placesNotIn([...ran], templatesFor('postgres'))).toEqual([]);
  });

  it.each([
    ['the queue', /SKIP LOCKED[\s\S]+offered ORDER BY/, 'completions_queue'],
    [
      'included attempts',
      /state = 'included'\s+ORDER BY mined_block_number, id/,
      'attempts_included',
    ],
    ['included attempts from the end', /ORDER BY mined_block_number DESC/, 'attempts_included'],
    ['those below a place', /\(mined_block_number, id\) </, 'attempts_included'],
    ['due webhooks', /AS due UNION ALL/, 'webhooks_due'],
    ['old messages', /state <> 'pending' AND created_at </, 'webhook_deliveries_age'],
    ['waiting proofs', /state IN \('queued', 'submitted'\) AND \(/, 'completions_waiting'],
    ['failed proofs', /state = 'failed' AND \(/, 'completions_failed'],
    ['claims of a period', /c\.outcome\s+FROM tasks t LEFT/, 'tasks_wallet'],
    ['charges of a period', /s\.kind = 'settle' AND s\.at/, 'ledger_settled'],
    ['what was mined', /a\.nonce >= \$\d/, 'attempts_chain_id_sender_nonce_key'],
  ])('read %s in order, by the index meant for it', (_what, query, index) => {
    const [, nodes = []] = [...plans].find(([text]) => query.test(text)) ?? [];
    const limit = nodes.find((node) => node['Node Type'] === 'Limit');
    const limited = limit === undefined ? [] : nodesOf(limit);

    expect(limited.map((node) => node['Index Name'])).toContain(index);
    // A sort reads all there is before the limit.
    expect(limited.map((node) => node['Node Type'])).not.toContain('Sort');
  });

  // PostgreSQL refuses a prepared statement whose columns would be others: SELECT * of a table that was altered.
  it('are used as they were prepared after a newer version has added columns', async () => {
    const planned = [...ran].filter(isPlanned);
    for (const [i, text] of planned.entries()) {
      await planner.client.query(`PREPARE kept_${i} AS ${text}`);
    }

    await planner.client.query(addColumns);

    const refused: string[] = [];
    for (const [i, text] of planned.entries()) {
      await planner
        .explain(`kept_${i}`, text)
        .catch((error) => refused.push(`${error.message}: ${text}`));
    }
    expect(refused).toEqual([]);
  });
});
