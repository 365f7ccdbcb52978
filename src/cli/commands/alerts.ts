// `svc alerts`: alerts of the account and the rules that open them.
import { type AlertKind, alertKinds } from '../../protocol/alerts.ts';
import { pickOne, robotNames } from '../input/find.ts';
import { type PageQuery, printPages, type Range, readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { type ArgumentSpec, cursorOption, limitOption, positive } from '../program/options.ts';

const kinds = Object.keys(alertKinds);
const kindArgument: ArgumentSpec = { syntax: '<kind>', summary: 'kind of alert', choices: kinds };

interface Watch {
  kind: AlertKind;
  threshold: number;
  state?: string[];
}

export const alertCommands: readonly CommandSpec[] = [
  {
    path: 'alerts list',
    summary: 'List the open alerts and the alerts that closed in the last year, newest first',
    options: [{ flags: '--open', summary: 'only open alerts' }, limitOption, cursorOption],
    examples: ['svc alerts list --open'],
    async run(context, { open, ...range }: Range & { open?: true }) {
      const { call, output } = context;
      const nameOf = await robotNames(context);
      const filter = { ...(open && { open: 'true' as const }) };
      await printPages(
        output,
        (query) => call('listAlerts', { query: { ...query, ...filter } }),
        [
          { title: 'id', value: (a) => a.id },
          { title: 'kind', value: (a) => a.kind },
          { title: 'threshold', value: (a) => a.threshold },
          { title: 'robot', value: (a) => a.robot_id && nameOf(a.robot_id), shrinks: true },
          { title: 'opened', value: (a) => a.opened_at, isTime: true },
          { title: 'acknowledged', value: (a) => a.acknowledged_at, isTime: true },
          { title: 'closed', value: (a) => a.closed_at, isTime: true },
        ],
        range,
      );
    },
  },
  {
    path: 'alerts acknowledge',
    summary: 'Acknowledge an open alert',
    arguments: [{ syntax: '<alert>', summary: 'id, or start of an id' }],
    examples: ['svc alerts acknowledge 01a1fa88'],
    async run({ call, output }, { alert: text }: { alert: string }) {
      const open = (query: PageQuery) => call('listAlerts', { query: { ...query, open: 'true' } });
      const { id, kind } = pickOne('alert', text, (await readPages(open)).items);
      const { body } = await call('acknowledgeAlert', { params: { id } });
      output.done(body, `Acknowledged the alert ${output.quote(kind)}.`);
    },
  },
  {
    path: 'alerts rules',
    summary: 'List the alert rules',
    examples: ['svc alerts rules'],
    async run({ call, output }) {
      const { body } = await call('listAlertRules');
      await output.table(body, body.rules, [
        { title: 'kind', value: (r) => r.kind },
        { title: 'threshold', value: (r) => r.threshold },
        { title: 'states', value: (r) => r.states?.join(', ') ?? null },
        { title: 'condition', value: (r) => alertKinds[r.kind], shrinks: true },
      ]);
    },
  },
  {
    path: 'alerts watch',
    summary: 'Create an alert rule, or change the threshold of the existing rule of the same kind',
    details: Object.entries(alertKinds)
      .map(([kind, condition]) => `${kind}: ${condition}.`)
      .join('\n\n'),
    arguments: [kindArgument],
    options: [
      { flags: '--threshold <n>', summary: 'N of the condition', parse: positive, default: 10 },
      { flags: '--state <state...>', summary: 'states for robot_state (default: error)' },
    ],
    examples: [
      'svc alerts watch robot_offline --threshold 15',
      'svc alerts watch robot_state --threshold 1 --state error stuck',
    ],
    async run({ call, output }, { state: states, ...rule }: Watch) {
      const { body } = await call('saveAlertRule', {
        body: { ...rule, ...(states && { states }) },
      });
      const { kind, threshold } = rule;
      output.done(body, `Watching ${kind}, N = ${threshold}: ${alertKinds[kind]}.`);
    },
  },
  {
    path: 'alerts unwatch',
    summary:
      'Delete the alert rule of a kind. The open alerts of this kind close within 30 s, with two exceptions: webhook_disabled stays open, and credit_low stays open until the credits cover one anchor',
    arguments: [kindArgument],
    examples: ['svc alerts unwatch battery_low'],
    async run({ call, output }, params: { kind: AlertKind }) {
      const { body } = await call('deleteAlertRule', { params });
      output.done(body, `Deleted the rule ${params.kind}.`);
    },
  },
];
