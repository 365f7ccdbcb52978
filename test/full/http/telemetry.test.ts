import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import type { Send } from '../../support/wire.ts';

const KEPT_DAYS = 30;
const DAY = 24 * 3_600_000;

describe('telemetry', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService({
      clock,
      settings: { telemetryRetentionMs: KEPT_DAYS * DAY },
    });
    owner = await service.signIn();
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    clock.advance(60_000);
    robot = await service.makeRobot(owner);
  });

  const post = (sent: Send) =>
    service.call('POST', '/api/v1/telemetry', { apiKey: robot.apiKey, ...sent });

  describe('recording', () => {
    it('does not delay other accounts with large bodies', async () => {
      const other = await service.makeRobot(await service.signIn());
      const metrics = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`metric ${i}`, i]));
      const raw = JSON.stringify({ samples: Array(50).fill({ metrics }) });
      const answered: string[] = [];
      const note = (name: string) => () => answered.push(name);

      const large = Array.from({ length: 20 }, () => post({ raw }).then(note('large')));
      const small = post({ apiKey: other.apiKey, body: {} }).then(note('small'));
      await Promise.all([...large, small]);

      expect(answered.indexOf('small')).toBeLessThan(10);
    });
  });
});
