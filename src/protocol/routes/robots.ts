import { Type } from 'typebox';
import { Closed, Text, VisibleText } from '../fields.ts';
import { limits } from '../limits.ts';
import { PageQuery, page } from '../paging.ts';
import { ApiKey, Robot } from '../resources.ts';
import type { Route } from '../route.ts';

export const robotRoutes = {
  createRobot: {
    method: 'POST',
    path: '/api/v1/robots',
    summary: 'Register a robot; its API key is shown in this answer only',
    access: 'session',
    limit: 'account',
    body: Closed({
      name: VisibleText(limits.nameLength),
      description: Type.Optional(Text(limits.descriptionLength)),
    }),
    responses: { 201: Closed({ robot: Robot, api_key: ApiKey }) },
    errors: ['robot_limit_reached'],
  },
  listRobots: {
    method: 'GET',
    path: '/api/v1/robots',
    summary: "List the account's robots, oldest first",
    access: 'session',
    limit: 'none',
    query: Closed(PageQuery),
    responses: { 200: page(Robot) },
    errors: [],
  },
} as const satisfies Record<string, Route>;
