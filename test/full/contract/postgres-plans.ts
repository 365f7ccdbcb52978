// Plans the statements of the PostgreSQL store, and finds those that would walk through history.

import pg from 'pg';

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
  // One row for each attempt that is being put together, or gives its leaves back.
  'assignments',
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

export interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: Plan[];
}

export type Planner = Awaited<ReturnType<typeof openPlanner>>;

/** Plans statements in the database, without its rows. */
export async function openPlanner(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Of empty tables no walk is dear: so one is planned only where no index serves.
  for (const way of ['seqscan', 'hashjoin', 'mergejoin', 'hashagg']) {
    await client.query(`SET enable_${way} = off`);
  }
  await client.query('SET plan_cache_mode = force_generic_plan');

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

  return { client, planOf, explain };
}

export const isPlanned = (text: string) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(text);

export function nodesOf(plan: Plan): Plan[] {
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

/** The statements that walk through a table or an index which grows with history. */
export function walksIn(plans: ReadonlyMap<string, readonly Plan[]>): string[] {
  return [...plans].flatMap(([text, nodes]) =>
    ofAllAccounts.test(text)
      ? []
      : nodes.flatMap((node) => {
          const walk = walkOf(node);
          return walk === null || shortWalks.includes(walk) ? [] : [`${walk}: ${text}`];
        }),
  );
}
