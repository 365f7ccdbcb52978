import { v7 as uuid } from 'uuid';
import { expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { listEvents } from '../../src/server/core/events.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { World } from '../contract/world.ts';

it('returns the largest page without parsing its payloads', async () => {
  const world = await World.open(openTemporarySqlite);
  const robot = await world.robot();
  const counts = Array.from({ length: limits.payloadBytes / 2 - 10 }, () => 0);
  const logged = Array.from({ length: limits.pageSizeMax }, () =>
    world.store.createEvent({
      id: uuid(),
      robotId: robot.id,
      keyHash: robot.keyHash,
      eventType: 'counted',
      severity: 'info',
      message: '',
      payload: JSON.stringify({ counts }),
      occurredAt: null,
      createdAt: world.now,
    }),
  );
  await Promise.all(logged);
  const list = () =>
    listEvents({ store: world.store }, robot.wallet, { limit: `${limits.pageSizeMax}` });
  const parse = vi.spyOn(JSON, 'parse');
  const stringify = vi.spyOn(JSON, 'stringify');
  onTestFinished(() => void vi.restoreAllMocks());

  const { text } = await list();

  const texts = [
    ...parse.mock.calls.map(([read]) => read),
    ...stringify.mock.results.map(({ value }) => String(value)),
  ];
  // Other services of this worker read and write JSON too.
  expect(texts.filter((one) => one.includes('"counts"'))).toEqual([]);
  expect(JSON.parse(text).items[0].payload).toEqual({ counts });
  await world.close();
});
