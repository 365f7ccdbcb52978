// Routes of fleets.
import { Type } from 'typebox';
import { Closed, Nullable, Patch, Text, Uuid, VisibleText } from '../fields.ts';
import { Fleet, SortOrder, Tags } from '../fleets.ts';
import { limits } from '../limits.ts';
import { Id, PageQuery, page } from '../paging.ts';
import type { Route } from '../route.ts';

const OneFleet = Closed({ fleet: Fleet });

export const fleetRoutes = {
  createFleet: {
    method: 'POST',
    path: '/api/v1/fleets',
    summary: 'Create a fleet, last in the display order',
    access: 'session',
    limit: 'account',
    body: Closed({
      id: Type.Optional(Uuid),
      name: VisibleText(limits.nameLength),
      description: Type.Optional(Text(limits.descriptionLength)),
      location: Type.Optional(Text(limits.locationLength)),
      shift: Type.Optional(Text(limits.shiftLength)),
      tags: Type.Optional(Tags),
    }),
    maxBody: limits.smallBodyBytes,
    responses: { 201: OneFleet },
    errors: ['fleet_limit_reached', 'id_conflict', 'storage_quota'],
  },
  listFleets: {
    method: 'GET',
    path: '/api/v1/fleets',
    summary: "List the account's fleets in display order",
    access: 'session',
    limit: 'none',
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
    errors: [],
  },
  getFleet: {
    method: 'GET',
    path: '/api/v1/fleets/:id',
    summary: 'Read a fleet',
    access: 'session',
    limit: 'none',
    params: Id,
    responses: { 200: OneFleet },
    errors: ['not_found'],
  },
  patchFleet: {
    method: 'PATCH',
    path: '/api/v1/fleets/:id',
    summary: 'Update a fleet. A null value clears the field, and tags replace all existing tags',
    access: 'session',
    limit: 'account',
    params: Id,
    body: Patch({
      name: Type.Optional(VisibleText(limits.nameLength)),
      description: Type.Optional(Nullable(Text(limits.descriptionLength))),
      location: Type.Optional(Nullable(Text(limits.locationLength))),
      shift: Type.Optional(Nullable(Text(limits.shiftLength))),
      tags: Type.Optional(Tags),
      sort_order: Type.Optional(SortOrder),
    }),
    maxBody: limits.smallBodyBytes,
    responses: { 200: OneFleet },
    errors: ['not_found'],
  },
  deleteFleet: {
    method: 'DELETE',
    path: '/api/v1/fleets/:id',
    summary: 'Delete a fleet; its robots become ungrouped',
    access: 'session',
    limit: 'account',
    params: Id,
    maxBody: limits.smallBodyBytes,
    responses: { 200: Closed({ deleted: Type.Literal(true) }) },
    errors: ['not_found'],
  },
  reorderFleets: {
    method: 'POST',
    path: '/api/v1/fleets/reorder',
    summary:
      'Reorder fleets. The listed fleets come first, in this order. The other fleets follow in their present order',
    access: 'session',
    limit: 'account',
    body: Closed({
      order: Type.Array(Uuid, { maxItems: limits.fleetsPerAccount, uniqueItems: true }),
    }),
    maxBody: limits.smallBodyBytes,
    responses: { 200: Closed({ fleets: Type.Array(Fleet) }) },
    errors: ['not_found'],
  },
} as const satisfies Record<string, Route>;
