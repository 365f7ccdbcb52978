import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { limits } from '../../protocol/limits.ts';
import type { Robot } from '../../protocol/resources.ts';
import type { Body, Query } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { Deps } from './deps.ts';
import { fault } from './fault.ts';
import type { RateCount } from './ports.ts';
import type { RobotCaller, RobotRecord } from './robot-store.ts';
import { hashToken } from './token.ts';

/** Registers a robot; the key is in this answer only. Throws `robot_limit_reached`. */
export async function createRobot(
  { store, clock }: Deps,
  wallet: string,
  { name, description }: Body<'createRobot'>,
): Promise<{ robot: Robot; api_key: string }> {
  const apiKey = `svc_${randomBytes(20).toString('hex')}`;
  const result = await store.createRobot({
    id: uuidv7(),
    wallet,
    name,
    description: description ?? null,
    keyHash: hashToken(apiKey),
    createdAt: clock.now(),
  });
  if (result.outcome === 'robot_limit_reached') {
    throw fault(
      'robot_limit_reached',
      `An account has at most ${limits.robotsPerAccount} robots; delete one first.`,
    );
  }
  return { robot: viewRobot(result.robot), api_key: apiKey };
}

/** One page of the account's robots, oldest first. */
export async function listRobots(
  { store }: Deps,
  wallet: string,
  { limit, cursor }: Query<'listRobots'>,
): Promise<{ items: Robot[]; next_cursor: string | null }> {
  const size = limit === undefined ? limits.pageSize : Number(limit);
  const found = await store.listRobots(wallet, size + 1, cursor ?? null);
  const items = found.slice(0, size);
  const last = items.at(-1);
  return {
    items: items.map(viewRobot),
    next_cursor: found.length > size && last !== undefined ? last.id : null,
  };
}

/** The robot of an API key, its call counted. Throws `invalid_api_key`. */
export async function authenticateRobot(
  { store }: Deps,
  apiKey: string,
): Promise<{ robot: RobotRecord & RobotCaller; count: RateCount }> {
  const keyHash = hashToken(apiKey);
  const wellFormed = /^svc_[0-9a-f]{40}$/.test(apiKey);
  const found = wellFormed ? await store.authenticateRobot(keyHash) : null;
  if (found === null) throw fault('invalid_api_key', 'The API key is unknown or revoked.');
  return { robot: { ...found.robot, keyHash }, count: found.count };
}

function viewRobot(robot: RobotRecord): Robot {
  return {
    id: robot.id,
    name: robot.name,
    description: robot.description,
    fleet_id: robot.fleetId,
    key_hint: robot.keyHint,
    created_at: formatTimestamp(robot.createdAt),
    updated_at: formatTimestamp(robot.updatedAt),
    last_seen_at: robot.lastSeenAt === null ? null : formatTimestamp(robot.lastSeenAt),
    battery_pct: robot.batteryPct,
    state: robot.state,
  };
}
