// Routes of fleets.
import { Type } from 'typebox';
import { Closed, Nullable, Patch, Text, Uuid, VisibleText } from '../fields.ts';
import { Fleet, SortOrder, Tags } from '../fleets.ts';
import { limits } from '../limits.ts';
import { PageQuery, page } from '../paging.ts';
import {
  accountChange,
  accountChangeById,
  accountDeletion,
  accountRead,
  accountReadById,
  type Route,
} from '../route.ts';

const OneFleet = Closed({ fleet: Fleet });

export const fleetRoutes = {
  createFleet: {
    ...accountChange,
    path: '/api/v1/fleets',
    summary: 'Create a fleet, which is then the last one in the display order',
    body: Closed({
      id: Type.Optional(Uuid),
      name: VisibleText(limits.nameLength),
      description: Type.Optional(Text(limits.descriptionLength)),
      location: Type.Optional(Text(limits.locationLength)),
      shift: Type.Optional(Text(limits.shiftLength)),
      tags: Type.Optional(Tags),
    }),
    responses: { 201: OneFleet },
    errors: ['fleet_limit_reached', 'id_conflict', 'storage_quota'],
  },
  listFleets: {
    ...accountRead,
    path: '/api/v1/fleets',
    summary: "List the account's fleets in display order",
    query: Closed({
      ...PageQuery,
      cursor: Type.Optional(
        Type.String({
          pattern: '^\\d{1,16}_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
          description: 'the next_cursor of the previous page',
        }),
      ),
    }),
    responses: { 200: page(Fleet) },
  },
  getFleet: {
    ...accountReadById,
    path: '/api/v1/fleets/:id',
    summary: 'Read a fleet',
    responses: { 200: OneFleet },
  },
  patchFleet: {
    ...accountChangeById,
    method: 'PATCH',
    path: '/api/v1/fleets/:id',
    summary: 'Update a fleet. Null deletes the value of a field, and `tags` replaces all tags',
    body: Patch({
      name: Type.Optional(VisibleText(limits.nameLength)),
      description: Type.Optional(Nullable(Text(limits.descriptionLength))),
      location: Type.Optional(Nullable(Text(limits.locationLength))),
      shift: Type.Optional(Nullable(Text(limits.shiftLength))),
      tags: Type.Optional(Tags),
      sort_order: Type.Optional(SortOrder),
    }),
    responses: { 200: OneFleet },
    errors: ['not_found', 'storage_quota'],
  },
  deleteFleet: {
    ...accountDeletion,
    path: '/api/v1/fleets/:id',
    summary: 'Delete a fleet; its robots remain and have no fleet',
  },
  reorderFleets: {
    ...accountChange,
    path: '/api/v1/fleets/reorder',
    summary:
      'Reorder fleets. The listed fleets come first, in this order. The other fleets follow in their present order',
    body: Closed({
      order: Type.Array(Uuid, { maxItems: limits.fleetsPerAccount, uniqueItems: true }),
    }),
    responses: { 200: Closed({ fleets: Type.Array(Fleet) }) },
    errors: ['not_found'],
  },
} as const satisfies Record<string, Route>;
