import { expect, it } from 'vitest';
import { storeContract } from '../../contract/store.contract.ts';
import { collectStatements, placesNotIn, templatesFor } from '../../contract/templates.ts';
import { openPlanner, type Plan, walksIn } from './postgres-plans.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

const ran = collectStatements('postgres');

storeContract('PostgreSQL', openTemporaryPostgres);

it('finds every row that the contract asks for by an index', async () => {
  // Its own database: a shared one has statistics of the rows of other tests, and other plans.
  const temporary = await openTemporaryPostgres({ now: () => 0 }, { ownDatabase: true });
  const { client, planOf } = await openPlanner(temporary.url);
  const plans = new Map<string, Plan[]>();
  for (const text of ran) plans.set(text, await planOf(text));
  await client.end();
  await temporary.close();

  expect(plans.size).toBeGreaterThan(20);
  expect(walksIn(plans)).toEqual([]);
});

it('runs every template of a statement', () => {
  expect(placesNotIn([...ran], templatesFor('postgres'))).toEqual([]);
});
