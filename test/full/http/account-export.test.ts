import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import { createTestClock } from '../../support/clock.ts';
import { type Owner, startTestService, type TestService } from '../../support/service.ts';

const clock = createTestClock();
let service: TestService;
let owner: Owner;
beforeAll(async () => {
  service = await startTestService({ clock });
});
afterAll(() => service.close());
beforeEach(async () => {
  owner = await service.signIn();
});

const exportWith = (body: object, by: object = { session: owner.session }) =>
  service.call('POST', '/api/v1/me/export', { body, ...by });

describe('an account that its owner exports', () => {
  it('returns more robots than a page of the list has', async () => {
    for (let i = 0; i < 201; i += 1) await service.makeRobot(owner, `arm-${i}`);
    clock.advance(limits.windowMs);
    const { body } = await exportWith(await service.signAgain(owner, 'export_account'));

    const robots = body.filter(({ kind }: { kind: string }) => kind === 'robot');
    expect(robots).toHaveLength(201);
  });
});
