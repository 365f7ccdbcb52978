// What the use cases ask of the store about fleets.
export interface FleetRecord {
  id: string;
  wallet: string;
  name: string;
  description: string | null;
  location: string | null;
  shift: string | null;
  tags: string[];
  /** Place in the account's display order; among equals the older fleet comes first. */
  sortOrder: number;
  createdAt: number;
  updatedAt: number;
  robotCount: number;
}

export type NewFleet = Omit<FleetRecord, 'sortOrder' | 'updatedAt' | 'robotCount'>;

/** Members that are absent stay as they are; `tags` replaces all of them. */
export interface FleetPatch {
  name?: string;
  description?: string | null;
  location?: string | null;
  shift?: string | null;
  tags?: string[];
  sortOrder?: number;
}

/** Where a page of fleets ended. */
export type FleetPlace = Pick<FleetRecord, 'sortOrder' | 'id'>;

/** A fleet is found under its own account only; for any other wallet it is not there. */
export interface FleetStore {
  /** Puts the fleet last. MUST hold the ceiling of fleets per account under concurrent calls. */
  createFleet(
    fleet: NewFleet,
  ): Promise<{ outcome: 'created'; fleet: FleetRecord } | { outcome: 'fleet_limit_reached' }>;
  getFleet(id: string, wallet: string): Promise<FleetRecord | null>;
  /** In display order; `after` is the place of the last fleet of the page before. */
  listFleets(wallet: string, limit: number, after: FleetPlace | null): Promise<FleetRecord[]>;
  patchFleet(
    id: string,
    wallet: string,
    patch: FleetPatch,
    now: number,
  ): Promise<FleetRecord | null>;
  /** Its robots are in no fleet afterwards. False if it is not there. */
  deleteFleet(id: string, wallet: string, now: number): Promise<boolean>;
  /**
   * Puts the fleets named (each once) first, in that order, and keeps the others after them in theirs.
   * Answers all fleets of the account in the new order; null, nothing changed, if one named is not there.
   */
  reorderFleets(wallet: string, ids: readonly string[], now: number): Promise<FleetRecord[] | null>;
}
