// `svc tokens` and `svc audit`: account tokens, and who did what to the account.
import { formatJson } from '../../base/escape.ts';
import type { Client } from '../../client/client.ts';
import type { AuditEntry } from '../../protocol/audit-log.ts';
import type { TokenScope } from '../../protocol/tokens.ts';
import { pickOne } from '../input/find.ts';
import type { Column } from '../output/output.ts';
import { noteRest, readPages } from '../output/pages.ts';
import { showTime } from '../output/table.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { cursorOption, limitOption, positive } from '../program/options.ts';

export const tokenCommands: readonly CommandSpec[] = [
  {
    path: 'tokens create',
    summary: 'Create an account token and show it one time; svc uses it from SVC_TOKEN',
    details:
      'When piped, prints only the token. A token cannot manage tokens, and needs the scope write for changes.',
    arguments: [{ syntax: '<name>', summary: 'at most 80 characters' }],
    options: [
      {
        flags: '--scope <scope>',
        summary: 'read or write',
        default: 'read',
        completes: ['read', 'write'],
      },
      { flags: '--days <count>', summary: 'lifetime, 1 to 365 (default: 90)', parse: positive },
    ],
    examples: [
      'svc tokens create nightly-report',
      'svc tokens create fleet-sync --scope write --days 30 > fleet-sync.token',
    ],
    run: createToken,
  },
  {
    path: 'tokens list',
    summary: 'List the tokens of the account and their last use, newest first',
    examples: ['svc tokens list'],
    run: listTokens,
  },
  {
    path: 'tokens revoke',
    summary: 'Revoke a token at once',
    arguments: [{ syntax: '<token>', summary: 'id, start of an id, or exact name' }],
    examples: ['svc tokens revoke nightly-report'],
    run: revokeToken,
  },
];

async function createToken(
  { session, output }: Context,
  { name, scope, days }: { name: string; scope: TokenScope; days?: number },
): Promise<void> {
  const { client } = await session();
  const { body } = await client.call('createToken', {
    body: { name, scope, ...(days !== undefined && { expires_in_days: days }) },
  });
  if (output.asksJson) return output.json(body);
  output.text(body.secret);
  output.note(
    `The token ${output.quote(name)} is shown only once. It ends on ${body.token.expires_at.slice(0, 10)}.`,
  );
}

async function listTokens({ session, output }: Context): Promise<void> {
  const { client } = await session();
  const page = await allTokens(client);
  await output.table(page, page.items, [
    { title: 'id', value: (t) => t.id },
    { title: 'name', value: (t) => t.name, shrinks: true },
    { title: 'scope', value: (t) => t.scope },
    { title: 'until', value: (t) => t.expires_at, shown: (t) => showTime(t.expires_at) },
    { title: 'last used', value: (t) => t.last_used_at, shown: (t) => showTime(t.last_used_at) },
  ]);
}

async function revokeToken(
  { session, output }: Context,
  { token: text }: { token: string },
): Promise<void> {
  const { client } = await session();
  const { id, name } = pickOne('token', text, (await allTokens(client)).items);
  const { body } = await client.call('revokeToken', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`Revoked the token ${output.quote(name)}.`);
}

function allTokens(client: Client) {
  return readPages((query) => client.call('listTokens', { query }));
}

export const auditCommand: CommandSpec = {
  path: 'audit',
  summary: 'List who did what to the account in the last year, newest first',
  options: [
    { flags: '--jsonl', summary: 'print all entries, one JSON object per line' },
    limitOption,
    cursorOption,
  ],
  examples: ['svc audit', 'svc audit --jsonl > audit.jsonl'],
  run: audit,
};

async function audit(
  { session, output }: Context,
  { jsonl, ...range }: { jsonl?: true; limit: number; cursor?: string },
): Promise<void> {
  const { client } = await session();
  const page = await readPages(
    (query) => client.call('listAuditLog', { query }),
    jsonl ? {} : range,
  );
  if (jsonl) {
    for (const entry of page.items) output.line(formatJson(entry, false));
    return;
  }
  await output.table(page, page.items, auditColumns);
  noteRest(output, page);
}

const auditColumns: readonly Column<AuditEntry>[] = [
  { title: 'time', value: (e) => e.created_at, shown: (e) => showTime(e.created_at) },
  { title: 'kind', value: (e) => e.kind },
  { title: 'count', value: (e) => e.count },
  { title: 'actor', value: (e) => e.actor },
  { title: 'name', value: (e) => e.actor_name, shrinks: true },
  { title: 'source', value: (e) => e.source },
  { title: 'target', value: (e) => e.target_id, shown: (e) => e.target_id?.slice(0, 8) ?? null },
  { title: 'detail', value: (e) => e.detail, shrinks: true },
];
