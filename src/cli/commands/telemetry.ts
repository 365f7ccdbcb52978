// `svc telemetry`: samples of a robot, or a series of them.

import type { Column } from '../../base/output/output.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Resolution, Sample, SeriesPoint } from '../../protocol/telemetry.ts';
import { findRobot, robotArgument } from '../input/find.ts';
import { noteRest, type Range, readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { cursorOption, limitOption, zoned, zonedTime } from '../program/options.ts';

export const telemetryCommand: CommandSpec = {
  path: 'telemetry',
  summary: 'List the telemetry samples of a robot, newest first',
  details:
    'With --resolution, print a time series instead: at most 6 hours with the resolution minute, 31 days with hour, and 366 days with day.',
  arguments: [robotArgument],
  options: [
    { flags: '--from <time>', summary: zonedTime, parse: zoned },
    { flags: '--to <time>', summary: zonedTime, parse: zoned },
    {
      flags: '--resolution <interval>',
      summary: 'interval of the time series',
      completes: ['minute', 'hour', 'day'],
    },
    limitOption,
    cursorOption,
  ],
  examples: [
    'svc telemetry hall-robot-1',
    'svc telemetry hall-robot-1 --resolution hour --from 2026-11-20 --to 2026-11-20T14:30+01:00',
  ],
  async run(context, { robot, from, to, resolution, ...range }: TelemetryInput) {
    if (resolution !== undefined && range.cursor !== undefined) {
      throw new SvcError('usage', '--cursor and --resolution exclude each other.');
    }
    const { call, output, wait } = context;
    const params = { id: (await findRobot(context, robot)).id };
    const span = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    if (resolution !== undefined) {
      const { body } = await wait('Reading telemetry', () =>
        call('readTelemetry', { params, query: { ...span, resolution } }),
      );
      if (!('points' in body)) throw unexpected();
      return output.table(body, body.points, pointColumns);
    }
    const page = await wait('Reading telemetry', () =>
      readPages(async (query) => {
        const { body } = await call('readTelemetry', { params, query: { ...query, ...span } });
        if (!('items' in body)) throw unexpected();
        return { body };
      }, range),
    );
    await output.table(page, page.items, sampleColumns);
    noteRest(output, page);
  },
};

interface TelemetryInput extends Range {
  robot: string;
  from?: string;
  to?: string;
  resolution?: Resolution;
}

function unexpected(): SvcError {
  return new SvcError('unexpected_answer', 'The service answered with another kind of telemetry.');
}

const sampleColumns: readonly Column<Sample>[] = [
  { title: 'recorded', value: (s) => s.recorded_at, isTime: true },
  { title: 'battery', value: (s) => s.battery_pct },
  { title: 'state', value: (s) => s.state, shrinks: true },
  { title: 'metrics', value: (s) => JSON.stringify(s.metrics), shrinks: true },
];

const pointColumns: readonly Column<SeriesPoint>[] = [
  { title: 'from', value: (p) => p.at, isTime: true },
  { title: 'samples', value: (p) => p.samples },
  { title: 'battery min', value: (p) => p.battery_pct?.min ?? null },
  { title: 'avg', value: (p) => round(p.battery_pct?.avg) },
  { title: 'max', value: (p) => p.battery_pct?.max ?? null },
  { title: 'states', value: (p) => JSON.stringify(p.states), shrinks: true },
  { title: 'metrics', value: (p) => JSON.stringify(p.metrics), shrinks: true },
];

function round(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value * 100) / 100;
}
