// Handlers for telemetry, events and statistics.
import type { Deps } from '../../core/deps.ts';
import { createEvent, listEvents } from '../../core/events.ts';
import { readReport, reportRows } from '../../core/report.ts';
import { getStats } from '../../core/stats.ts';
import { listSamples, readSeries, recordSamples } from '../../core/telemetry.ts';
import type { Handlers } from '../server/call.ts';
import type { LongReads } from '../server/in-flight.ts';
import { Csv, wantsCsv } from '../server/representations.ts';

const sampleColumns = ['id', 'recorded_at', 'battery_pct', 'state', 'metrics'];
const reportColumns = ['section', 'robot_id', 'robot', 'fleet_id', 'name', 'value'];

export function telemetryHandlers(deps: Deps, longReads: LongReads) {
  return {
    recordSamples: ({ caller, body }) => recordSamples(deps, caller, body),
    createEvent: ({ caller, body }) => createEvent(deps, caller, body),
    async readTelemetry({ caller, params, query, request }) {
      const robot = { wallet: caller.wallet, robotId: params.id };
      const { resolution } = query;
      if (resolution !== undefined) {
        return longReads(caller.wallet, () => readSeries(deps, robot, { ...query, resolution }));
      }
      const read = (more = query) => longReads(caller.wallet, () => listSamples(deps, robot, more));
      if (!wantsCsv(request)) return read();
      return Csv.open(sampleColumns, query, async (more) => JSON.parse((await read(more)).text));
    },
    listEvents: ({ caller: { wallet }, query }) =>
      longReads(wallet, () => listEvents(deps, wallet, query)),
    getStats: ({ caller, query }) => getStats(deps, caller.wallet, query.fleet_id ?? null),
    async getReport({ caller: { wallet }, query, request }) {
      const report = await longReads(wallet, () => readReport(deps, wallet, query));
      if (!wantsCsv(request)) return report;
      return Csv.open(reportColumns, {}, async () => {
        return { items: reportRows(report), next_cursor: null };
      });
    },
  } satisfies Partial<Handlers>;
}
