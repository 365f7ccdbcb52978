import Database from 'better-sqlite3';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { openTemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { World } from '../../contract/world.ts';

const DAY = 24 * 3_600_000;

/** Of what a state (5), a place (33) and the three counts of them take. */
const MOST_BYTES = limits.seriesStates * 5 + (1 + limits.seriesMetrics) * 33 + 3;

let world: World;
let robot: NewRobot;
beforeEach(async () => {
  world = await World.open(openTemporarySqlite);
  robot = await world.robot();
});
afterEach(() => world.close());

/** Sums of such numbers need many doubles to be exact: their exponents are far apart. */
function wideApart(sample: number): string {
  const names = Array.from({ length: limits.seriesMetrics }, (_, i) => `m${i}`);
  const readings = names.map((name, i) => [name, 2 ** (((sample * 61 + i * 53) % 1900) - 950)]);
  return JSON.stringify(Object.fromEntries(readings));
}

/** A full request, its samples so far apart; answers how many roll-ups it read and wrote. */
async function record(apartMs: number, round = 0) {
  const samples = Array.from({ length: limits.samplesPerRequest }, (_, i) => ({
    id: uuid(),
    recordedAt: world.now + i * apartMs,
    batteryPct: i,
    state: `s${round % limits.seriesStates}`,
    metrics: wideApart(round * limits.samplesPerRequest + i),
  }));
  const db = new Database(':memory:');
  const statement = Object.getPrototypeOf(db.prepare('SELECT 1'));
  db.close();
  const gets = vi.spyOn(statement, 'get');
  const runs = vi.spyOn(statement, 'run');
  const { id: robotId, keyHash } = robot;
  const { outcome } = await world.store.recordSamples({
    robotId,
    keyHash,
    samples,
    now: world.now,
  });
  const sourceOf = (context: unknown) => String((context as Database.Statement).source);
  const isOfRollups = (context: unknown) => sourceOf(context).includes('telemetry_rollups');
  const written = runs.mock.calls.filter((_, i) => isOfRollups(runs.mock.contexts[i]));
  const reads = gets.mock.contexts.filter(isOfRollups).length;
  gets.mockRestore();
  runs.mockRestore();
  const sizes = written.map((values) => (values.at(-1) as Buffer).length);
  return { outcome, reads, writes: written.length, largest: Math.max(...sizes) };
}

describe('a request with as many samples and metrics as there may be', () => {
  it('reads and writes one roll-up for each interval that it has samples in', async () => {
    expect(await record(1)).toMatchObject({ outcome: 'recorded', reads: 3, writes: 3 });
    expect(await record(DAY, 1)).toMatchObject({ reads: 150, writes: 150 });
  });

  it('writes roll-ups of a bounded size, whatever its numbers are', async () => {
    for (let round = 0; round < limits.seriesStates; round += 1) await record(DAY, round);

    const { outcome, largest } = await record(DAY, limits.seriesStates);

    expect(outcome).toBe('recorded');
    expect(largest).toBe(MOST_BYTES);
    expect(await world.store.checkInvariants()).toEqual([]);
  });
});
