// Creates, changes and deletes robots, and rotates their keys.
import { randomBytes } from 'node:crypto';
import { v7 as newId } from 'uuid';
import { limits } from '../../protocol/limits.ts';
import type { Robot } from '../../protocol/resources.ts';
import type { Answer, Body, Query } from '../../protocol/routes.ts';
import { formatIfAny, formatTimestamp } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { RobotCaller, RobotRecord } from '../ports/robots.ts';
import type { AccountCaller } from '../ports/sign-in.ts';
import { rowBytes } from '../rules/storage.ts';
import {
  type Deleted,
  type Deps,
  deleted,
  found,
  keyRevoked,
  noSuch,
  recording,
  storing,
} from './deps.ts';
import { pageById } from './paging.ts';
import { hashToken } from './sessions.ts';

/**
 * Registers a robot. Only this response contains the key. Repeating an id with the same content returns the robot, with a
 * hint in place of the key. Throws `robot_limit_reached` and `id_conflict`.
 */
export async function createRobot(
  deps: Deps,
  { wallet, by }: AccountCaller,
  { id, name, description }: Body<'createRobot'>,
): Promise<Answer<'createRobot'>['body']> {
  const apiKey = newApiKey();
  const made = {
    id: id ?? newId(),
    wallet,
    name,
    description: description ?? null,
    keyHash: hashToken(apiKey),
    createdAt: deps.clock.now(),
  };
  const bytes = rowBytes(name, made.description);
  const result = await storing(deps, { wallet }, bytes, () => deps.store.createRobot(made, by));
  if (result.outcome === 'robot_limit_reached') {
    const message = `An account can have at most ${limits.robotsPerAccount} robots. Delete one first.`;
    throw wireError('robot_limit_reached', message);
  }
  deps.store.changed(wallet, { robot: made.id });
  if (result.outcome === 'created') return { robot: viewRobot(result.robot), api_key: apiKey };
  const { robot } = result;
  if (robot?.name !== name || robot.description !== (description ?? null)) {
    throw wireError('id_conflict', 'The robot id is already used with other content.');
  }
  const next = `The key was shown once. For a new one: POST /api/v1/robots/${robot.id}/rotate-key`;
  return { robot: viewRobot(robot), next };
}

/** One page of the account's robots, oldest first. */
export function listRobots({ store }: Deps, wallet: string, query: Query<'listRobots'>) {
  return pageById(query, (...page) => store.listRobots(wallet, ...page), viewRobot);
}

/** Throws `not_found`, also for a robot of another account. */
export async function getRobot({ store }: Deps, wallet: string, id: string) {
  return { robot: viewRobot(found('robot', await store.getRobot(id, wallet))) };
}

/** The calling robot. Throws `invalid_api_key` if it was deleted in the meantime. */
export async function getOwnRobot({ store }: Deps, { id, wallet }: RobotCaller) {
  const robot = await store.getRobot(id, wallet);
  if (robot === null) throw keyRevoked();
  return { robot: viewRobot(robot) };
}

/** Throws `not_found` if the account does not have the robot or the fleet. */
export async function patchRobot(
  deps: Deps,
  { wallet, by }: AccountCaller,
  id: string,
  { fleet_id: fleetId, ...texts }: Body<'patchRobot'>,
): Promise<{ robot: Robot }> {
  const patch = { ...texts, ...(fleetId !== undefined && { fleetId }) };
  const result = await recording(deps, wallet, () =>
    deps.store.patchRobot(id, wallet, patch, deps.clock.now(), by),
  );
  if (result.outcome !== 'patched') throw noSuch(ofOutcome[result.outcome]);
  // A fleet has a number of robots.
  deps.store.changed(wallet, fleetId === undefined ? { robot: id } : null);
  return { robot: viewRobot(result.robot) };
}

/** Moves all of the robots or none. Throws `not_found` if the account does not have one of them or the fleet. */
export async function assignRobots(
  deps: Deps,
  { wallet, by }: AccountCaller,
  { robot_ids: ids, fleet_id: fleetId }: Body<'assignRobots'>,
): Promise<{ updated: number; robots: Robot[] }> {
  const result = await recording(deps, wallet, () =>
    deps.store.assignRobots(wallet, ids, fleetId, deps.clock.now(), by),
  );
  if (result.outcome !== 'assigned') throw noSuch(ofOutcome[result.outcome]);
  deps.store.changed(wallet, null);
  return { updated: result.robots.length, robots: result.robots.map(viewRobot) };
}

/**
 * Replaces the robot's key, if it has one, and returns the new key, also in an account without storage: a leaked key
 * must end. Throws `not_found`.
 */
export async function rotateKey({ store, clock }: Deps, { wallet, by }: AccountCaller, id: string) {
  const apiKey = newApiKey();
  const robot = await store.replaceKey(id, wallet, hashToken(apiKey), clock.now(), by);
  store.changed(wallet, { robot: id });
  return { robot: viewRobot(found('robot', robot)), api_key: apiKey };
}

/** Ends the robot's key. Idempotent. Throws `not_found`. */
export async function deleteKey({ store, clock }: Deps, { wallet, by }: AccountCaller, id: string) {
  const robot = await store.replaceKey(id, wallet, null, clock.now(), by);
  store.changed(wallet, { robot: id });
  return { robot: viewRobot(found('robot', robot)) };
}

/** Deletes the robot and its tasks; see `RobotStore.deleteRobot`. Throws `not_found`. */
export async function deleteRobot(
  { store, clock }: Deps,
  { wallet, by }: AccountCaller,
  id: string,
): Promise<Deleted> {
  if (!(await store.deleteRobot(id, wallet, clock.now(), by))) throw noSuch('robot');
  // Its tasks and events are gone too.
  store.changed(wallet, null);
  return deleted;
}

/** Authenticates a robot by its API key and the hash of it, and counts the call. Throws `invalid_api_key`. */
export async function authenticateRobot({ store }: Deps, apiKey: string, keyHash: string) {
  const wellFormed = /^svc_[0-9a-f]{40}$/.test(apiKey);
  const found = wellFormed ? await store.authenticateRobot(keyHash) : null;
  if (found === null) throw wireError('invalid_api_key', 'The API key is unknown or revoked.');
  return found;
}

function newApiKey(): string {
  return `svc_${randomBytes(20).toString('hex')}`;
}

const ofOutcome = { robot_not_found: 'robot', fleet_not_found: 'fleet' } as const;

function viewRobot(robot: RobotRecord): Robot {
  return {
    id: robot.id,
    name: robot.name,
    description: robot.description,
    fleet_id: robot.fleetId,
    key_hint: robot.keyHint,
    created_at: formatTimestamp(robot.createdAt),
    updated_at: formatTimestamp(robot.updatedAt),
    last_seen_at: formatIfAny(robot.lastSeenAt),
    battery_pct: robot.batteryPct,
    battery_low_since: formatIfAny(robot.batteryLowSince),
    state: robot.state,
    state_since: formatIfAny(robot.stateSince),
    state_at: formatIfAny(robot.stateAt),
    clock_behind_s: robot.clockBehind === null ? null : Math.round(robot.clockBehind / 1000),
    last_error: dated(robot.lastError),
    current_task: dated(robot.currentTask),
  };
}

/** JSON with an instant, as a member of the API. */
function dated(text: string | null) {
  if (text === null) return null;
  const { created_at, ...members } = JSON.parse(text);
  return { ...members, created_at: formatTimestamp(created_at) };
}
