// Handlers for robots: an account's robots, and a robot's own record.
import type { Deps } from '../../core/deps.ts';
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
import type { LongReads } from '../server/long-reads.ts';

export function robotHandlers(deps: Deps, longReads: LongReads) {
  return {
    async createRobot({ caller, body, reply }) {
      const created = await createRobot(deps, caller, body);
      reply.header('location', `/api/v1/robots/${created.robot.id}`);
      return { status: 201, body: created };
    },
    async listRobots({ caller, query }) {
      const { wallet } = caller;
      return { status: 200, body: await longReads(wallet, () => listRobots(deps, wallet, query)) };
    },
    async getRobot({ caller, params }) {
      return { status: 200, body: { robot: await getRobot(deps, caller.wallet, params.id) } };
    },
    async getOwnRobot({ caller }) {
      return { status: 200, body: await getOwnRobot(deps, caller) };
    },
    async patchRobot({ caller, params, body }) {
      const robot = await patchRobot(deps, caller.wallet, params.id, body);
      return { status: 200, body: { robot } };
    },
    async assignRobots({ caller, body }) {
      return { status: 200, body: await assignRobots(deps, caller.wallet, body) };
    },
    async rotateKey({ caller, params }) {
      return { status: 200, body: await rotateKey(deps, caller, params.id) };
    },
    async deleteKey({ caller, params }) {
      return { status: 200, body: { robot: await deleteKey(deps, caller, params.id) } };
    },
    async deleteRobot({ caller, params }) {
      await deleteRobot(deps, caller, params.id);
      return { status: 200, body: { deleted: true } };
    },
  } satisfies Partial<Handlers>;
}
