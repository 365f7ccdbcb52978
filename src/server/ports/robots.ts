// What the use cases ask of the store about robots.
import type { RateCount } from './rate-count.ts';

export interface RobotRecord {
  id: string;
  wallet: string;
  name: string;
  description: string | null;
  fleetId: string | null;
  keyHint: string | null;
  createdAt: number;
  updatedAt: number;
  lastSeenAt: number | null;
  batteryPct: number | null;
  state: string | null;
}

/**
 * A robot and the key that spoke for it. Every write in a robot's name carries both: one whose key
 * was rotated, deleted or went with its robot meanwhile is refused at the commit.
 */
export interface RobotCaller {
  id: string;
  wallet: string;
  /** SHA-256 of the API key, hex. */
  keyHash: string;
}

export interface NewRobot {
  id: string;
  wallet: string;
  name: string;
  description: string | null;
  /** SHA-256 of the API key, hex. The key itself is never stored. */
  keyHash: string;
  createdAt: number;
}

/** Members that are absent stay as they are. */
export interface RobotPatch {
  name?: string;
  description?: string | null;
  fleetId?: string | null;
}

/** A robot is found under its own account only; for any other wallet it is not there. */
export interface RobotStore {
  /** Counts one call of the robot whose key has this hash; null (nothing counted) if no live key has. */
  authenticateRobot(
    keyHash: string,
  ): Promise<{ robot: Omit<RobotCaller, 'keyHash'>; count: RateCount } | null>;
  /** MUST hold the ceiling of robots per account under concurrent calls. */
  createRobot(
    robot: NewRobot,
  ): Promise<{ outcome: 'created'; robot: RobotRecord } | { outcome: 'robot_limit_reached' }>;
  getRobot(id: string, wallet: string): Promise<RobotRecord | null>;
  /** Oldest first (ids are UUIDv7); `after` is the last id of the page before. */
  listRobots(wallet: string, limit: number, after: string | null): Promise<RobotRecord[]>;
  /** `fleet_not_found`: the fleet is not the account's. */
  patchRobot(
    id: string,
    wallet: string,
    patch: RobotPatch,
    now: number,
  ): Promise<
    { outcome: 'patched'; robot: RobotRecord } | { outcome: 'robot_not_found' | 'fleet_not_found' }
  >;
  /** Moves all of the robots into the fleet (null: out of any), or none. Answers them in the order of `ids`. */
  assignRobots(
    wallet: string,
    ids: readonly string[],
    fleetId: string | null,
    now: number,
  ): Promise<
    | { outcome: 'assigned'; robots: RobotRecord[] }
    | { outcome: 'robot_not_found' | 'fleet_not_found' }
  >;
  /**
   * Ends the robot's key at once, also for writes that it authenticated and that are not committed yet.
   * `keyHash` is the one to take its place; null leaves the robot without a key.
   */
  replaceKey(
    id: string,
    wallet: string,
    keyHash: string | null,
    now: number,
  ): Promise<RobotRecord | null>;
  /**
   * Deletes the robot and its tasks; false if it is not there. Many tasks take several commits: the first
   * ends the key; a task goes with its evidence and its completion, whose reservation is released if it waits
   * to be signed, those not verified first; the robot goes last, its events from every list with it. What is signed
   * lands and settles without its task. Task ids stay taken for good. Requests that wait for a completion are
   * woken. Evidence is erased when it resolves (`EvidenceStore.eraseProof`), or where another process keeps an older
   * state of the files, once that process has ended. A call that was cut short is to be repeated.
   */
  deleteRobot(id: string, wallet: string, now: number): Promise<boolean>;
}
