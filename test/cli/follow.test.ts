import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { followChanges } from '../../src/cli/input/follow.ts';
import { createClient } from '../../src/client/client.ts';
import { startServiceWithRobot } from '../support/service.ts';

/** Longer than the time-out of the test, so that only the stream can be what ends a wait. */
const NEVER_MS = 600_000;

let site: Awaited<ReturnType<typeof startServiceWithRobot>>;
beforeAll(async () => {
  site = await startServiceWithRobot();
});
afterAll(() => site.service.close());

const follow = (baseUrl: string, pollMs: number) => {
  const { session } = site.owner;
  const client = createClient({ baseUrl, fetch, credential: { session } });
  const changes = followChanges(client, ['event'], pollMs);
  onTestFinished(() => changes.close());
  return changes;
};

it('ends a wait when the stream begins, and when it names a record of the kind', {
  timeout: 20_000,
}, async () => {
  const { service, robot } = site;
  const changes = follow(service.url, NEVER_MS);
  await changes.next(NEVER_MS);

  const waiting = changes.next(NEVER_MS);
  await service.call('POST', '/api/v1/events', {
    apiKey: robot.apiKey,
    body: { event_type: 'moved' },
  });

  expect(await waiting).toBeUndefined();
});

it('ends each wait after the poll interval while there is no stream', async () => {
  const changes = follow('http://127.0.0.1:9', 1);

  for (let i = 0; i < 3; i += 1) await changes.next();
});
