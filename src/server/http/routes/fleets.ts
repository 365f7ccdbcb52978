// Handlers for fleets.
import type { Deps } from '../../core/deps.ts';
import {
  createFleet,
  deleteFleet,
  getFleet,
  listFleets,
  patchFleet,
  reorderFleets,
} from '../../core/fleets.ts';
import type { Handlers } from '../server/call.ts';

export function fleetHandlers(deps: Deps) {
  return {
    async createFleet({ caller, body, reply }) {
      const fleet = await createFleet(deps, caller.wallet, body);
      reply.header('location', `/api/v1/fleets/${fleet.id}`);
      return { status: 201, body: { fleet } };
    },
    async listFleets({ caller, query }) {
      return { status: 200, body: await listFleets(deps, caller.wallet, query) };
    },
    async getFleet({ caller, params }) {
      return { status: 200, body: { fleet: await getFleet(deps, caller.wallet, params.id) } };
    },
    async patchFleet({ caller, params, body }) {
      const fleet = await patchFleet(deps, caller.wallet, params.id, body);
      return { status: 200, body: { fleet } };
    },
    async deleteFleet({ caller, params }) {
      await deleteFleet(deps, caller, params.id);
      return { status: 200, body: { deleted: true } };
    },
    async reorderFleets({ caller, body }) {
      return {
        status: 200,
        body: { fleets: await reorderFleets(deps, caller.wallet, body.order) },
      };
    },
  } satisfies Partial<Handlers>;
}
