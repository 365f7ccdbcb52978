// The store's contract for robots.
import type { Actor } from './account.ts';
import type { RateCount } from './sign-in.ts';

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
  /** Null unless `batteryPct` is below `limits.lowBatteryPct`. */
  batteryLowSince: number | null;
  state: string | null;
  stateSince: number | null;
  /** When it last reported a state. */
  stateAt: number | null;
  /** How far its clock is behind, in ms; null if that is not known. */
  clockBehind: number | null;
  /** JSON of the newest event of severity `error`, with the members of the API and an instant. */
  lastError: string | null;
  /** JSON of the newest claimed task if it has no completion, with the members of the API and an instant. */
  currentTask: string | null;
}

/**
 * A robot and the API key of the call. Every write on behalf of a robot carries both, and is refused at the commit if
 * the key was rotated or deleted, or the robot was deleted, in the meantime.
 */
export interface RobotCaller {
  id: string;
  wallet: string;
  /** SHA-256 of the API key, hex. */
  keyHash: string;
  /** Whether the operator suspended the account. */
  isSuspended: boolean;
}

export interface NewRobot
  extends Pick<RobotRecord, 'id' | 'wallet' | 'name' | 'description' | 'createdAt'> {
  /** SHA-256 of the API key, hex. The key itself is never stored. */
  keyHash: string;
}

/** Absent members stay unchanged. */
export type RobotPatch = Partial<Pick<RobotRecord, 'name' | 'description' | 'fleetId'>>;

/** Robots. Every method sees a robot only under its own account; for any other wallet it does not exist. */
export interface RobotStore {
  /** Counts one call of the robot whose key has this hash. Null, counting nothing, if no live key has it. */
  authenticateRobot(keyHash: string): Promise<{ robot: RobotCaller; count: RateCount } | null>;
  /** Counts the tasks of a batch, or none of them if the window has no room for all. */
  countBatch(robotId: string, tasks: number): Promise<RateCount>;
  /**
   * MUST enforce the limit of robots per account under concurrent calls. `id_used`: with the account's robot of this id;
   * null if it is another account's.
   */
  createRobot(
    robot: NewRobot,
    by?: Actor,
  ): Promise<
    | { outcome: 'created'; robot: RobotRecord }
    | { outcome: 'id_used'; robot: RobotRecord | null }
    | { outcome: 'robot_limit_reached' }
  >;
  getRobot(id: string, wallet: string): Promise<RobotRecord | null>;
  /** Oldest first (ids are UUIDv7). `after` is the last id of the previous page. */
  listRobots(wallet: string, limit: number, after: string | null): Promise<RobotRecord[]>;
  /** `fleet_not_found`: the account has no such fleet. */
  patchRobot(
    id: string,
    wallet: string,
    patch: RobotPatch,
    now: number,
    by?: Actor,
  ): Promise<
    { outcome: 'patched'; robot: RobotRecord } | { outcome: 'robot_not_found' | 'fleet_not_found' }
  >;
  /** Moves all of the robots into the fleet (null: out of any), or none. Returns them in the order of `ids`. */
  assignRobots(
    wallet: string,
    ids: readonly string[],
    fleetId: string | null,
    now: number,
    by?: Actor,
  ): Promise<
    | { outcome: 'assigned'; robots: RobotRecord[] }
    | { outcome: 'robot_not_found' | 'fleet_not_found' }
  >;
  /**
   * Ends the robot's key at once, also for writes that it authenticated and that are not committed yet. `keyHash` is
   * the new key's hash; null leaves the robot without a key.
   */
  replaceKey(
    id: string,
    wallet: string,
    keyHash: string | null,
    now: number,
    by?: Actor,
  ): Promise<RobotRecord | null>;
  /**
   * Deletes the robot and its tasks; false if the robot does not exist. Many tasks take several commits. The first
   * commit ends the key. Each task goes together with its evidence and its completion, whose reservation is released if
   * it still waits to be signed; unverified tasks go first. The robot goes last, and with it its events disappear from
   * every list.
   *
   * A transaction that is already signed is mined and settles without its task. Task ids stay taken for good. Requests
   * that wait for a completion are woken. The evidence is erased when the call resolves (`EvidenceStore.eraseProof`),
   * or, if another process reads an older snapshot of the files, when that process has ended. Repeat a call that was
   * interrupted.
   */
  deleteRobot(id: string, wallet: string, now: number, by?: Actor): Promise<boolean>;
}
