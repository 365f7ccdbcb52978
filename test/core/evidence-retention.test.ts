import { afterEach, beforeEach, expect, it } from 'vitest';
import { deleteExpired } from '../../src/server/core/retention.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { World } from '../contract/world.ts';

const DAY = 24 * 60 * 60_000;

let world: World;
let robotId: string;
beforeEach(async () => {
  world = await World.open(openTemporarySqlite);
  await world.lease();
  robotId = (await world.robot()).id;
});
afterEach(() => world.close());

/** One round of the server's retention. */
function round(proofRetentionMs: number | null, signal = new AbortController().signal) {
  return deleteExpired(
    {
      store: world.store,
      clock: world.clock,
      telemetryRetentionMs: null,
      eventRetentionMs: null,
      proofRetentionMs,
      onError: (error) => {
        throw error;
      },
    },
    signal,
  );
}

async function keptOf(tasks: readonly { id: string }[]): Promise<number> {
  const found = await Promise.all(tasks.map(({ id }) => world.store.getEvidence(id, { robotId })));
  return found.filter((evidence) => evidence?.proof !== null).length;
}

it('erases all evidence older than its age, in as many steps as needed', async () => {
  const old = await world.queued(robotId, 45);
  world.clock.advance(DAY);
  const young = await world.queued(robotId, 3);
  world.clock.advance(1);

  await round(DAY);

  expect([await keptOf(old), await keptOf(young)]).toEqual([0, 3]);
  expect(await world.store.checkInvariants()).toEqual([]);
});

it('keeps everything if no age is set', async () => {
  const tasks = await world.queued(robotId, 3);
  world.clock.advance(1000 * DAY);

  await round(null);

  expect(await keptOf(tasks)).toBe(3);
});

it('starts no step once it is aborted', async () => {
  const tasks = await world.queued(robotId, 3);
  world.clock.advance(DAY);

  await round(1, AbortSignal.abort());

  expect(await keptOf(tasks)).toBe(3);
});
