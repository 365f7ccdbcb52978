// Routes of robots and their keys.
import { Type } from 'typebox';
import { Closed, Nullable, Patch, Text, Uuid, VisibleText } from '../fields.ts';
import { limits } from '../limits.ts';
import { ApiKey, Robot } from '../resources.ts';
import {
  accountChange,
  accountChangeById,
  accountDeletion,
  accountList,
  accountReadById,
  type Route,
} from '../route.ts';

const OneRobot = Closed({ robot: Robot });
const RobotWithKey = Closed({ robot: Robot, api_key: ApiKey });

export const robotRoutes = {
  createRobot: {
    ...accountChange,
    path: '/api/v1/robots',
    summary: 'Register a robot; only this response contains its API key',
    body: Closed({
      id: Type.Optional(Uuid),
      name: VisibleText(limits.nameLength),
      description: Type.Optional(Text(limits.descriptionLength)),
    }),
    responses: {
      201: Closed({
        robot: Robot,
        api_key: Type.Optional(ApiKey),
        next: Type.Optional(
          Type.String({ description: 'in place of the key, if the robot exists already' }),
        ),
      }),
    },
    errors: ['robot_limit_reached', 'id_conflict', 'storage_quota'],
  },
  listRobots: {
    ...accountList(Robot),
    path: '/api/v1/robots',
    summary: "List the account's robots, oldest first",
  },
  getRobot: {
    ...accountReadById,
    path: '/api/v1/robots/:id',
    summary: 'Read a robot',
    responses: { 200: OneRobot },
  },
  getOwnRobot: {
    method: 'GET',
    path: '/api/v1/robot',
    summary: 'Read the robot that the API key belongs to',
    access: 'robot',
    limit: 'robot',
    responses: { 200: OneRobot },
    errors: [],
  },
  patchRobot: {
    ...accountChangeById,
    method: 'PATCH',
    path: '/api/v1/robots/:id',
    summary: 'Update a robot; null deletes the description, or removes the robot from its fleet',
    body: Patch({
      name: Type.Optional(VisibleText(limits.nameLength)),
      description: Type.Optional(Nullable(Text(limits.descriptionLength))),
      fleet_id: Type.Optional(Nullable(Uuid)),
    }),
    responses: { 200: OneRobot },
    errors: ['not_found', 'storage_quota'],
  },
  assignRobots: {
    ...accountChange,
    path: '/api/v1/robots/bulk',
    summary:
      'Move robots into a fleet. If `fleet_id` is null, move the robots out of their fleets. On an error, no robot is moved',
    body: Closed({
      robot_ids: Type.Array(Uuid, { maxItems: limits.robotsPerAssignment, uniqueItems: true }),
      fleet_id: Nullable(Uuid),
    }),
    responses: {
      200: Closed({ updated: Type.Integer({ minimum: 0 }), robots: Type.Array(Robot) }),
    },
    errors: ['not_found', 'storage_quota'],
  },
  rotateKey: {
    ...accountChangeById,
    path: '/api/v1/robots/:id/rotate-key',
    summary:
      'Rotate the API key of a robot; only this response contains the new key, and the old key stops working immediately',
    responses: { 200: RobotWithKey },
    errors: ['not_found'],
  },
  deleteKey: {
    ...accountChangeById,
    method: 'DELETE',
    path: '/api/v1/robots/:id/key',
    summary: 'Revoke the API key of a robot immediately; the tasks of the robot remain',
    responses: { 200: OneRobot },
  },
  deleteRobot: {
    ...accountDeletion,
    path: '/api/v1/robots/:id',
    summary:
      'Delete a robot and its tasks. Proofs that were accepted before are still anchored, because the service promised it, and the account is charged',
  },
} as const satisfies Record<string, Route>;
