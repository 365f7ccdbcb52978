// Exports an account as JSON lines.

import { SvcError } from '../../base/svc-error.ts';
import type { AccountCaller } from '../ports/sign-in.ts';
import { listAuditLog, listLedger, readAccount } from './account.ts';
import { listAlerts } from './alerts.ts';
import type { Deps } from './deps.ts';
import { listEvents } from './events.ts';
import { readBundle, readProof } from './evidence.ts';
import { listFleets } from './fleets.ts';
import { JsonText, type Page } from './paging.ts';
import { listRobots } from './robots.ts';
import { createGateReader } from './sign-in.ts';
import { getIdentity } from './signing/identity.ts';
import { listStatements } from './signing/statements.ts';
import { listTasks, readTask } from './tasks.ts';
import { listSamples } from './telemetry.ts';
import { listWebhooks } from './webhooks/webhooks.ts';

/** Runs one read; a server lets the accounts take turns. */
type TakeTurn = <Result>(read: () => Promise<Result>) => Promise<Result>;

/**
 * Yields the account, its robots with their keys, statements and samples, its tasks with bundle or evidence, and the
 * records of its lists.
 * Records the export after the last line: an export that fails is not recorded.
 */
export async function* exportAccount(
  deps: Deps,
  { wallet, by }: Pick<AccountCaller, 'wallet' | 'by'>,
  takeTurn: TakeTurn = (read) => read(),
): AsyncGenerator<string> {
  const all = <Item>(list: (query: PageQuery) => Promise<ReadPage<Item>>) =>
    readAll((query) => takeTurn(() => list(query)));
  yield line('account', await readAccount(deps, createGateReader(deps), wallet));
  for await (const robot of all((query) => listRobots(deps, wallet, query))) {
    yield line('robot', robot);
    const robotId = robot.id;
    const { identity } = await getIdentity(deps, wallet, robotId);
    if (identity.signs) yield line('identity', identity);
    for (const { kid } of identity.keys) {
      const statements = all((query) => listStatements(deps, wallet, robotId, { kid, ...query }));
      for await (const statement of statements) yield line('statement', { kid, ...statement });
    }
    for await (const sample of all((query) => listSamples(deps, { wallet, robotId }, query))) {
      yield line('sample', { robot_id: robotId, ...sample });
    }
  }
  const viewer = { wallet };
  for await (const { id } of all((query) => listTasks(deps, viewer, query))) {
    yield line('task', await readTask(deps, id, viewer));
    const bundle = await orNull(readBundle(deps, id, viewer));
    if (bundle !== null) yield line('bundle', bundle);
    const proof = bundle === null ? await orNull(readProof(deps, id, viewer)) : null;
    if (proof !== null) yield line('proof', { task_id: id, ...proof });
  }
  const lists: Record<string, (query: PageQuery) => Promise<ReadPage<object>>> = {
    fleet: (query) => listFleets(deps, wallet, query),
    event: (query) => listEvents(deps, wallet, query),
    ledger_entry: (query) => listLedger(deps, wallet, query),
    audit_entry: (query) => listAuditLog(deps, wallet, query),
    alert: (query) => listAlerts(deps, wallet, query),
    webhook: (query) => listWebhooks(deps, wallet, query),
  };
  for (const [kind, list] of Object.entries(lists)) {
    for await (const record of all(list)) yield line(kind, record);
  }
  for (const rule of await deps.store.listAlertRules(wallet)) yield line('alert_rule', rule);
  await deps.store.recordExport(wallet, { ...by, at: deps.clock.now() });
}

type PageQuery = { limit: string; cursor?: string };

type ReadPage<Item> = Page<Item> | JsonText<Page<Item>>;

function line(kind: string, record: object): string {
  return `${JSON.stringify({ kind, record })}\n`;
}

async function* readAll<Item>(read: (query: PageQuery) => Promise<ReadPage<Item>>) {
  let cursor: string | null = null;
  do {
    const page = await read({ limit: '200', ...(cursor !== null && { cursor }) });
    const { items, next_cursor }: Page<Item> =
      page instanceof JsonText ? JSON.parse(page.text) : page;
    yield* items;
    cursor = next_cursor;
  } while (cursor !== null);
}

/** Null where the task has no bundle or evidence, or was deleted meanwhile. */
async function orNull<Found>(found: Promise<Found>): Promise<Found | null> {
  try {
    return await found;
  } catch (error) {
    const missing = ['not_found', 'completion_in_progress'];
    if (error instanceof SvcError && missing.includes(error.code)) return null;
    throw error;
  }
}
