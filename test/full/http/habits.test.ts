import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Owner, startServiceWithRobot, type TestService } from '../../support/service.ts';

let service: TestService;
let owner: Owner;
beforeAll(async () => {
  ({ service, owner } = await startServiceWithRobot({ chain: 'mining' }));
});
afterAll(() => service.close());

describe('a call with a robot key', () => {
  it('is refused above the limit, even if its path cannot be decoded', async () => {
    const { apiKey } = await service.makeRobot(owner);
    const call = () => service.call('GET', '/api/v1/tasks/%zz', { apiKey });

    // A minute may end on the way.
    let reply = await call();
    for (let n = 0; n < 1200 && reply.status !== 429; n += 1) reply = await call();

    expect([reply.status, reply.body.error]).toEqual([429, 'rate_limited']);
  });
});
