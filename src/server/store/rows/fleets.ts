// Converts rows of fleets.

import type { FleetRecord } from '../../ports/fleets.ts';

export interface FleetRow {
  id: string;
  wallet: string;
  name: string;
  description: string | null;
  location: string | null;
  shift: string | null;
  tags: string;
  sort_order: number;
  created_at: number;
  updated_at: number;
  robot_count: number;
}

// An account has few robots, so counting those of a fleet is cheap.
export const FLEET_COLUMNS = `id, wallet, name, description, location, shift, tags, sort_order, created_at,
  updated_at, (SELECT count(*) FROM robots WHERE fleet_id = fleets.id) AS robot_count`;

export function toFleet(row: FleetRow): FleetRecord {
  return {
    id: row.id,
    wallet: row.wallet,
    name: row.name,
    description: row.description,
    location: row.location,
    shift: row.shift,
    tags: JSON.parse(row.tags),
    sortOrder: row.sort_order,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    robotCount: row.robot_count,
  };
}
