// The store's contract for fleets.
import type { Actor } from './account.ts';

export interface FleetRecord {
  id: string;
  wallet: string;
  name: string;
  description: string | null;
  location: string | null;
  shift: string | null;
  tags: string[];
  /** Position in the account's display order. Among equals the older fleet comes first. */
  sortOrder: number;
  createdAt: number;
  updatedAt: number;
  robotCount: number;
}

export type NewFleet = Omit<FleetRecord, 'sortOrder' | 'updatedAt' | 'robotCount'>;

/** Absent members stay unchanged; `tags` replaces all tags. */
export type FleetPatch = Partial<Omit<NewFleet, 'id' | 'wallet' | 'createdAt'>> &
  Partial<Pick<FleetRecord, 'sortOrder'>>;

/** The last fleet of a page, where the next page continues. */
export type FleetPlace = Pick<FleetRecord, 'sortOrder' | 'id'>;

/** Fleets. Every method sees a fleet only under its own account; for any other wallet it does not exist. */
export interface FleetStore {
  /**
   * Adds the fleet at the end of the display order. MUST enforce the limit of fleets per account under concurrent
   * calls. `id_used`: with the account's fleet of this id; null if it is another account's.
   */
  createFleet(
    fleet: NewFleet,
    by?: Actor,
  ): Promise<
    | { outcome: 'created'; fleet: FleetRecord }
    | { outcome: 'id_used'; fleet: FleetRecord | null }
    | { outcome: 'fleet_limit_reached' }
  >;
  getFleet(id: string, wallet: string): Promise<FleetRecord | null>;
  /** In display order. `after` is the last fleet of the previous page. */
  listFleets(wallet: string, limit: number, after: FleetPlace | null): Promise<FleetRecord[]>;
  patchFleet(
    id: string,
    wallet: string,
    patch: FleetPatch,
    now: number,
    by?: Actor,
  ): Promise<FleetRecord | null>;
  /** Deletes the fleet; its robots are in no fleet afterwards. False if it does not exist. */
  deleteFleet(id: string, wallet: string, now: number, by?: Actor): Promise<boolean>;
  /**
   * Moves the named fleets (each named once) to the front, in that order; the others follow in their existing order.
   * Returns all fleets of the account in the new order, or null, changing nothing, if a named one does not exist.
   */
  reorderFleets(wallet: string, ids: readonly string[], now: number): Promise<FleetRecord[] | null>;
}
