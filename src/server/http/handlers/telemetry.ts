import type { Deps } from '../../core/deps.ts';
import { createEvent, listEvents } from '../../core/events.ts';
import { getStats } from '../../core/stats.ts';
import { listSamples, readSeries, recordSamples } from '../../core/telemetry.ts';
import type { Handlers } from '../call.ts';

export function telemetryHandlers(
  deps: Deps,
): Pick<Handlers, 'recordSamples' | 'createEvent' | 'readTelemetry' | 'listEvents' | 'getStats'> {
  return {
    async recordSamples({ caller, body }) {
      return { status: 201, body: await recordSamples(deps, caller, body) };
    },
    async createEvent({ caller, body }) {
      return { status: 201, body: await createEvent(deps, caller, body) };
    },
    async readTelemetry({ caller, params, query }) {
      const robot = { wallet: caller.wallet, robotId: params.id };
      const { resolution } = query;
      return {
        status: 200,
        body:
          resolution === undefined
            ? await listSamples(deps, robot, query)
            : await readSeries(deps, robot, { ...query, resolution }),
      };
    },
    async listEvents({ caller, query }) {
      return { status: 200, body: await listEvents(deps, caller.wallet, query) };
    },
    async getStats({ caller, query }) {
      return { status: 200, body: await getStats(deps, caller.wallet, query.fleet_id ?? null) };
    },
  };
}
