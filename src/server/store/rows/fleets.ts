// Converts rows of fleets.

import type { FleetRecord } from '../../ports/fleets.ts';

/** `tags` is a JSON array. */
export type FleetRow = Omit<FleetRecord, 'tags'> & { tags: string };

// An account has few robots, so counting those of a fleet is cheap.
export const FLEET_COLUMNS = `id, wallet, name, description, location, shift, tags,
  sort_order AS "sortOrder", created_at AS "createdAt", updated_at AS "updatedAt",
  (SELECT count(*) FROM robots WHERE fleet_id = fleets.id) AS "robotCount"`;

export function toFleet(row: FleetRow): FleetRecord {
  return { ...row, tags: JSON.parse(row.tags) };
}
