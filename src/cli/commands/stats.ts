// `svc stats`: statistics of the account or of a fleet.

import type { Field } from '../../base/output/fields.ts';
import type { Answer } from '../../protocol/routes.ts';
import { findFleet } from '../input/find.ts';
import { amountFormat } from '../output/amounts.ts';
import type { CommandSpec } from '../program/command.ts';

export const statsCommand: CommandSpec = {
  path: 'stats',
  summary: 'Show statistics of the account or of one fleet',
  options: [{ flags: '--fleet <fleet>', summary: 'only robots of this fleet', completes: 'fleet' }],
  examples: ['svc stats', 'svc stats --fleet "Hall 3" --json'],
  async run(context, { fleet }: { fleet?: string }) {
    const { call, output } = context;
    const query = fleet === undefined ? {} : { fleet_id: (await findFleet(context, fleet)).id };
    const { body } = await call('getStats', { query });
    await output.record(body, fieldsOf(body, await amountFormat(context)));
  },
};

type Stats = Answer<'getStats'>['body'];

function fieldsOf(
  { robots, battery, tasks, ...history }: Stats,
  amount: (wei: string) => string,
): Field[] {
  const days = history.anchors_by_day;
  const hours = history.events_by_hour;
  return [
    ['robots', robots.total],
    ['robots online', robots.online],
    ...Object.entries(robots.by_state).map(([state, count]): Field => [`robots ${state}`, count]),
    ['robots without state', robots.without_state],
    ['battery below 20 %', sum(battery.buckets.slice(0, 2))],
    ['battery unknown', battery.unknown],
    ['tasks claimed', tasks.claimed],
    ['tasks verified', tasks.verified],
    ['anchors in 30 days', sum(days.map(({ anchors }) => anchors))],
    [
      'gas_wei in 30 days',
      amount(String(days.reduce((sum, day) => sum + BigInt(day.gas_wei), 0n))),
    ],
    ['info events in 24 h', sum(hours.map(({ info }) => info))],
    ['warn events in 24 h', sum(hours.map(({ warn }) => warn))],
    ['error events in 24 h', sum(hours.map(({ error }) => error))],
    ['samples in 24 h', sum(history.samples_by_hour.map(({ samples }) => samples))],
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
