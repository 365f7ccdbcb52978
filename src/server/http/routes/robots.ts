// Handlers for robots, a robot's own record, and fleets.
import type { Deps } from '../../core/deps.ts';
import {
  createFleet,
  deleteFleet,
  getFleet,
  listFleets,
  patchFleet,
  reorderFleets,
} from '../../core/fleets.ts';
import {
  assignRobots,
  createRobot,
  deleteKey,
  deleteRobot,
  getOwnRobot,
  getRobot,
  listRobots,
  patchRobot,
  rotateKey,
} from '../../core/robots.ts';
import type { Handlers } from '../server/call.ts';
import type { LongReads } from '../server/in-flight.ts';

export function robotHandlers(deps: Deps, longReads: LongReads) {
  return {
    async createRobot({ caller, body, reply }) {
      const created = await createRobot(deps, caller, body);
      reply.header('location', `/api/v1/robots/${created.robot.id}`);
      return created;
    },
    listRobots: ({ caller: { wallet }, query }) =>
      longReads(wallet, () => listRobots(deps, wallet, query)),
    getRobot: ({ caller, params }) => getRobot(deps, caller.wallet, params.id),
    getOwnRobot: ({ caller }) => getOwnRobot(deps, caller),
    patchRobot: ({ caller, params, body }) => patchRobot(deps, caller, params.id, body),
    assignRobots: ({ caller, body }) => assignRobots(deps, caller, body),
    rotateKey: ({ caller, params }) => rotateKey(deps, caller, params.id),
    deleteKey: ({ caller, params }) => deleteKey(deps, caller, params.id),
    deleteRobot: ({ caller, params }) => deleteRobot(deps, caller, params.id),
  } satisfies Partial<Handlers>;
}

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
