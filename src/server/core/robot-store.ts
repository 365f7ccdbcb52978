import type { RateCount } from './ports.ts';

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

/** A robot is found under its own account only; for any other wallet it is not there. */
export interface RobotStore {
  /** Counts one call of the robot whose key has this hash; null (nothing counted) if no live key has. */
  authenticateRobot(keyHash: string): Promise<{ robot: RobotRecord; count: RateCount } | null>;
  /** MUST hold the ceiling of robots per account under concurrent calls. */
  createRobot(
    robot: NewRobot,
  ): Promise<{ outcome: 'created'; robot: RobotRecord } | { outcome: 'robot_limit_reached' }>;
  /** Oldest first (ids are UUIDv7); `after` is the last id of the page before. */
  listRobots(wallet: string, limit: number, after: string | null): Promise<RobotRecord[]>;
}
