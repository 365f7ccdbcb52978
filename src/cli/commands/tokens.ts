// `svc tokens` and `svc audit`: account tokens, and who did what to the account.
import { formatJson } from '../../base/escape.ts';
import type { Column } from '../../base/output/output.ts';
import type { AuditEntry } from '../../protocol/audit-log.ts';
import type { TokenScope } from '../../protocol/tokens.ts';
import { allTokens, confirmName, pickOne } from '../input/find.ts';
import { type PageQuery, printPages, type Range, readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import {
  cursorOption,
  duplicateOption,
  limitOption,
  positive,
  yesOption,
} from '../program/options.ts';

interface CreateInput {
  name: string;
  scope: TokenScope;
  days?: number;
  allowDuplicate?: true;
}

export const tokenCommands: readonly CommandSpec[] = [
  {
    path: 'tokens create',
    summary: 'Create an account token and show the token one time. To use the token, set SVC_TOKEN',
    details: `This command needs a session that svc login opened with --key-file or --manual. If you signed in through a browser, create the token on the page Access of the dashboard instead.

svc prints only the token to standard output. To change data, a token needs the scope write. Sessions, tokens, webhooks, sign-ins of other machines, export and deletion need a session instead.`,
    arguments: [{ syntax: '<name>', summary: 'at most 80 characters' }],
    options: [
      {
        flags: '--scope <scope>',
        summary: 'what the token may do',
        default: 'read',
        completes: ['read', 'write'],
      },
      {
        flags: '--days <count>',
        summary: 'lifetime, 1 to 365 (default: 90)',
        parse: positive,
        member: 'expires_in_days',
      },
      duplicateOption,
    ],
    examples: [
      'svc tokens create nightly-report',
      'svc tokens create fleet-sync --scope write --days 30 > fleet-sync.token',
    ],
    async run(context, { name, scope, days, allowDuplicate }: CreateInput) {
      const { call, output } = context;
      if (!allowDuplicate) await confirmName(context, 'token', name, await allTokens(context));
      const lifetime = { ...(days !== undefined && { expires_in_days: days }) };
      const { body } = await call('createToken', { body: { name, scope, ...lifetime } });
      const end = body.token.expires_at.slice(0, 10);
      const note = `The token ${output.quote(name)} is shown only once. It ends on ${end}.`;
      output.done(body, note, body.secret);
    },
  },
  {
    path: 'tokens list',
    summary: 'List the tokens of the account and their last use, newest first',
    examples: ['svc tokens list'],
    async run(context) {
      const items = await allTokens(context);
      await context.output.table({ items, next_cursor: null }, items, [
        { title: 'id', value: (t) => t.id },
        { title: 'name', value: (t) => t.name, shrinks: true },
        { title: 'scope', value: (t) => t.scope },
        { title: 'until', value: (t) => t.expires_at, isTime: true },
        { title: 'last used', value: (t) => t.last_used_at, isTime: true },
      ]);
    },
  },
  {
    path: 'tokens revoke',
    summary: 'Revoke a token immediately',
    arguments: [
      { syntax: '<token>', summary: 'id, start of an id, or exact name', completes: 'token' },
    ],
    options: [yesOption],
    examples: ['svc tokens revoke nightly-report'],
    async run(context, { token: text, yes = false }: { token: string; yes?: boolean }) {
      const { call, output, prompt } = context;
      const { id, name } = pickOne('token', text, await allTokens(context));
      const consequence = `Scripts with the token ${output.quote(name)} stop working immediately.`;
      if (!yes) await (await prompt()).agree(consequence);
      const { body } = await call('revokeToken', { params: { id } });
      output.done(body, `Revoked the token ${output.quote(name)}.`);
    },
  },
];

export const auditCommand: CommandSpec = {
  path: 'audit',
  summary: 'List the newest actions on the account, at most 20 000 of the last year',
  options: [
    { flags: '--jsonl', summary: 'print all entries, one JSON object per line' },
    limitOption,
    cursorOption,
  ],
  examples: ['svc audit', 'svc audit --jsonl > audit.jsonl'],
  async run({ call, output }, { jsonl, ...range }: Range & { jsonl?: true }) {
    const read = (query: PageQuery) => call('listAuditLog', { query });
    if (!jsonl) return printPages(output, read, auditColumns, range);
    for (const entry of (await readPages(read)).items) output.line(formatJson(entry, false));
  },
};

const auditColumns: readonly Column<AuditEntry>[] = [
  { title: 'time', value: (e) => e.created_at, isTime: true },
  { title: 'kind', value: (e) => e.kind },
  { title: 'count', value: (e) => e.count },
  { title: 'actor', value: (e) => e.actor },
  { title: 'name', value: (e) => e.actor_name, shrinks: true },
  { title: 'source', value: (e) => e.source },
  { title: 'target', value: (e) => e.target_id, shrinks: true },
  { title: 'detail', value: (e) => e.detail, shrinks: true },
];
