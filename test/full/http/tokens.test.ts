import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import { createTestClock } from '../../support/clock.ts';
import { type Owner, startTestService, type TestService } from '../../support/service.ts';

describe('account tokens', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  beforeAll(async () => {
    service = await startTestService({ clock });
  });
  beforeEach(async () => {
    owner = await service.signIn();
  });
  afterAll(() => service.close());

  const create = (members = {}, { session } = owner) =>
    service.call('POST', '/api/v1/tokens', {
      session,
      body: { name: 'report', scope: 'read', ...members },
    });
  const secretOf = async (members = {}) => (await create(members)).body.secret as string;
  const me = (apiKey: string) => service.call('GET', '/api/v1/me', { apiKey });

  it('are not ended by many sign-ins, and end none', async () => {
    const secret = await secretOf();
    const { account } = owner;
    for (let i = 0; i < limits.sessionsPerAccount; i += 1) {
      if (i % limits.challengesPerWindow === 50) clock.advance(limits.windowMs);
      await service.signIn(account);
    }

    expect((await me(secret)).status).toBe(200);
  });
});
