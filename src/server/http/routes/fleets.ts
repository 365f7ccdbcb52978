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
      const fleet = await createFleet(deps, caller, body);
      reply.header('location', `/api/v1/fleets/${fleet.id}`);
      return { fleet };
    },
    listFleets: ({ caller, query }) => listFleets(deps, caller.wallet, query),
    getFleet: ({ caller, params }) => getFleet(deps, caller.wallet, params.id),
    patchFleet: ({ caller, params, body }) => patchFleet(deps, caller, params.id, body),
    deleteFleet: ({ caller, params }) => deleteFleet(deps, caller, params.id),
    reorderFleets: ({ caller, body }) => reorderFleets(deps, caller.wallet, body.order),
  } satisfies Partial<Handlers>;
}
