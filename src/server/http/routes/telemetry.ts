// Handlers for telemetry, events and statistics.
import { FairQueue } from '../../../base/fair-queue.ts';
import type { Deps } from '../../core/deps.ts';
import { createEvent, listEvents } from '../../core/events.ts';
import { getStats } from '../../core/stats.ts';
import { listSamples, readSeries, recordSamples } from '../../core/telemetry.ts';
import { wireError } from '../../ports/errors.ts';
import type { Handlers } from '../server/call.ts';

/** How many series are read at once, one per account, and how many calls of an account may wait. */
const SERIES = {
  atOnce: 4,
  waiting: { ofOne: 32, inAll: Number.POSITIVE_INFINITY },
  refusal: () =>
    wireError('overloaded', 'Too many requests of this account are waiting. Nothing was done.'),
};

export function telemetryHandlers(deps: Deps) {
  const seriesQueue = new FairQueue(SERIES);
  return {
    recordSamples({ caller, body }) {
      return recordSamples(deps, caller, body).then((receipt) => ({ status: 201, body: receipt }));
    },
    async createEvent({ caller, body }) {
      return { status: 201, body: await createEvent(deps, caller, body) };
    },
    async readTelemetry({ caller, params, query }) {
      const robot = { wallet: caller.wallet, robotId: params.id };
      const { resolution } = query;
      if (resolution === undefined) {
        return { status: 200, body: await listSamples(deps, robot, query) };
      }
      const read = () => readSeries(deps, robot, { ...query, resolution });
      return { status: 200, body: await seriesQueue.run(caller.wallet, read) };
    },
    async listEvents({ caller, query }) {
      return { status: 200, body: await listEvents(deps, caller.wallet, query) };
    },
    async getStats({ caller, query }) {
      return { status: 200, body: await getStats(deps, caller.wallet, query.fleet_id ?? null) };
    },
  } satisfies Partial<Handlers>;
}
