// Reads everything that an account stores, record by record, through the API of this process.
import type { FastifyInstance } from 'fastify';
import { SvcError } from '../../base/svc-error.ts';
import { createClient } from '../../client/client.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { Page } from '../ports/json-text.ts';

const lists = {
  fleet: 'listFleets',
  event: 'listEvents',
  ledger_entry: 'listLedger',
  audit_entry: 'listAuditLog',
  alert: 'listAlerts',
  webhook: 'listWebhooks',
} as const;

/**
 * Yields the account of the session, its robots with their samples, its tasks with bundle or evidence, and the records
 * of its lists. `address` is that of the caller. Rejects as `Client.call`.
 */
export async function* exportAccount(
  app: FastifyInstance,
  session: string,
  address = '127.0.0.1',
): AsyncGenerator<Answer<'exportAccount'>['body']> {
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url));
    const headers = init?.headers as Record<string, string>; // As the client writes them.
    const inner = { url: pathname + search, headers, remoteAddress: address };
    const { statusCode: status, payload } = await app.inject(inner);
    return new Response(payload, { status });
  };
  const service = { baseUrl: 'http://localhost', fetch, credential: { session } };
  const { call: read } = createClient(service);
  yield { kind: 'account', record: (await read('getAccount')).body };
  for await (const robot of readAll((query) => read('listRobots', { query }))) {
    yield { kind: 'robot', record: robot };
    const params = { id: robot.id };
    const samples = (query: PageQuery) =>
      read('readTelemetry', { params, query }) as Promise<{ body: Page<object> }>; // No `resolution`.
    for await (const sample of readAll(samples)) {
      yield { kind: 'sample', record: { robot_id: robot.id, ...sample } };
    }
  }
  for await (const { id } of readAll((query) => read('listTasks', { query }))) {
    const params = { id };
    yield { kind: 'task', record: (await read('getTask', { params })).body };
    const bundle = await orNull(read('getBundle', { params }));
    if (bundle !== null) yield { kind: 'bundle', record: bundle.body };
    const proof = bundle === null ? await orNull(read('getProof', { params })) : null;
    if (proof !== null) yield { kind: 'proof', record: { task_id: id, ...proof.body } };
  }
  for (const [kind, name] of Object.entries(lists)) {
    const list = (query: PageQuery) => read(name, { query }) as Promise<{ body: Page<object> }>;
    for await (const record of readAll(list)) yield { kind, record };
  }
  for (const rule of (await read('listAlertRules')).body.rules) {
    yield { kind: 'alert_rule', record: rule };
  }
}

type PageQuery = { limit: string; cursor?: string };

async function* readAll<Item>(read: (query: PageQuery) => Promise<{ body: Page<Item> }>) {
  let cursor: string | null = null;
  do {
    const query = { limit: '200', ...(cursor === null ? {} : { cursor }) };
    const { body }: { body: Page<Item> } = await read(query);
    yield* body.items;
    cursor = body.next_cursor;
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
