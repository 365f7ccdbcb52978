import Database from 'better-sqlite3';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { openTemporarySqlite, type TemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { World } from '../../contract/world.ts';

const DAY = 24 * 3_600_000;

/** Bytes of a name or number in JSON, with what separates it from the next. */
const NAME = 4 * limits.seriesNameLength + 4;
const NUMBER = 25;
const MOST_BYTES =
  limits.seriesStates * (NAME + NUMBER) + (1 + limits.seriesMetrics) * (NAME + 4 * NUMBER + 2);

let temporary: TemporarySqlite;
let world: World;
let robot: NewRobot;
beforeEach(async () => {
  world = await World.open(async (clock) => {
    temporary = await openTemporarySqlite(clock);
    return temporary;
  });
  robot = await world.robot();
});
afterEach(() => world.close());

/** Numbers of many digits. Their exponents are far apart. */
function wideApart(sample: number): string {
  const names = Array.from({ length: limits.seriesMetrics }, (_, i) => `m${i}`);
  const readings = names.map((name, i) => [name, 2 ** (((sample * 61 + i * 53) % 1900) - 950)]);
  return JSON.stringify(Object.fromEntries(readings));
}

/** A full request, its samples so far apart. */
async function record(apartMs: number, round: number): Promise<void> {
  const samples = Array.from({ length: limits.samplesPerRequest }, (_, i) => ({
    id: uuid(),
    recordedAt: world.now + i * apartMs,
    batteryPct: i,
    state: `s${round % limits.seriesStates}`,
    metrics: wideApart(round * limits.samplesPerRequest + i),
  }));
  const { id: robotId, keyHash } = robot;
  const { outcome } = await world.store.recordSamples({
    robotId,
    keyHash,
    samples,
    now: world.now,
  });
  expect(outcome).toBe('recorded');
}

it('keeps a roll-up within a bounded size for any numbers', async () => {
  for (let round = 0; round <= limits.seriesStates; round += 1) await record(DAY, round);

  const file = new Database(temporary.path, { readonly: true });
  const largest = file
    .prepare(`SELECT max(octet_length(concat(battery, states, metrics))) FROM telemetry_rollups`)
    .pluck()
    .get();
  file.close();
  expect(largest).toBeLessThan(MOST_BYTES);
  expect(await world.store.checkInvariants()).toEqual([]);
});
