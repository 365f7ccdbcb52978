// `svc alerts`: alerts of the account and the rules that open them.
import { type AlertKind, alertKinds } from '../../protocol/alerts.ts';
import { pickOne, robotNames } from '../input/find.ts';
import { noteRest, readPages } from '../output/pages.ts';
import { showTime } from '../output/table.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { type ArgumentSpec, cursorOption, limitOption, positive } from '../program/options.ts';

const kinds = Object.keys(alertKinds);
const kindArgument: ArgumentSpec = {
  syntax: '<kind>',
  summary: kinds.join(', '),
  completes: kinds,
};

export const alertCommands: readonly CommandSpec[] = [
  {
    path: 'alerts list',
    summary: 'List the alerts of the last year, newest first',
    options: [{ flags: '--open', summary: 'only open alerts' }, limitOption, cursorOption],
    examples: ['svc alerts list --open'],
    run: listAlerts,
  },
  {
    path: 'alerts acknowledge',
    summary: 'Acknowledge an open alert',
    arguments: [{ syntax: '<alert>', summary: 'id, or start of an id' }],
    examples: ['svc alerts acknowledge 01a1fa88'],
    run: acknowledge,
  },
  {
    path: 'alerts rules',
    summary: 'List the alert rules',
    examples: ['svc alerts rules'],
    run: listRules,
  },
  {
    path: 'alerts watch',
    summary: 'Create the alert rule of a kind, or change its threshold',
    details: `${Object.entries(alertKinds)
      .map(([kind, condition]) => `${kind}: ${condition}`)
      .join('. ')}.`,
    arguments: [kindArgument],
    options: [
      { flags: '--threshold <n>', summary: 'N of the condition', parse: positive, default: 10 },
    ],
    examples: ['svc alerts watch robot_offline --threshold 15'],
    run: saveRule,
  },
  {
    path: 'alerts unwatch',
    summary: 'Delete the alert rule of a kind; its open alerts close',
    arguments: [kindArgument],
    examples: ['svc alerts unwatch battery_low'],
    run: deleteRule,
  },
];

async function listAlerts(
  { session, output }: Context,
  { open, ...range }: { open?: true; limit: number; cursor?: string },
): Promise<void> {
  const { client } = await session();
  const page = await readPages(
    (query) => client.call('listAlerts', { query: { ...query, ...(open && { open: 'true' }) } }),
    range,
  );
  const nameOf = await robotNames(client, output);
  await output.table(page, page.items, [
    { title: 'id', value: (a) => a.id },
    { title: 'kind', value: (a) => a.kind },
    { title: 'threshold', value: (a) => a.threshold },
    { title: 'robot', value: (a) => a.robot_id && nameOf(a.robot_id), shrinks: true },
    { title: 'opened', value: (a) => a.opened_at, shown: (a) => showTime(a.opened_at) },
    {
      title: 'acknowledged',
      value: (a) => a.acknowledged_at,
      shown: (a) => showTime(a.acknowledged_at),
    },
    { title: 'closed', value: (a) => a.closed_at, shown: (a) => showTime(a.closed_at) },
  ]);
  noteRest(output, page);
}

async function acknowledge(
  { session, output }: Context,
  { alert: text }: { alert: string },
): Promise<void> {
  const { client } = await session();
  const { items } = await readPages((query) =>
    client.call('listAlerts', { query: { ...query, open: 'true' } }),
  );
  const { id, kind } = pickOne('alert', text, items);
  const { body } = await client.call('acknowledgeAlert', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`Acknowledged the alert ${output.quote(kind)}.`);
}

async function listRules({ session, output }: Context): Promise<void> {
  const { client } = await session();
  const { body } = await client.call('listAlertRules');
  await output.table(body, body.rules, [
    { title: 'kind', value: (r) => r.kind },
    { title: 'threshold', value: (r) => r.threshold },
    { title: 'condition', value: (r) => alertKinds[r.kind], shrinks: true },
  ]);
}

async function saveRule(
  { session, output }: Context,
  rule: { kind: AlertKind; threshold: number },
): Promise<void> {
  const { client } = await session();
  const { body } = await client.call('saveAlertRule', { body: rule });
  if (output.asksJson) return output.json(body);
  output.note(`Watching ${rule.kind}, N = ${rule.threshold}: ${alertKinds[rule.kind]}.`);
}

async function deleteRule(
  { session, output }: Context,
  params: { kind: AlertKind },
): Promise<void> {
  const { client } = await session();
  const { body } = await client.call('deleteAlertRule', { params });
  if (output.asksJson) return output.json(body);
  output.note(`Deleted the rule ${params.kind}.`);
}
