import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Owner, startTestService, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

it('run one at a time per account, and do not delay another account', async () => {
  const busy = await service.signIn();
  const other = await service.signIn();
  const { listRobots } = service.store;
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reading: string[] = [];
  service.store.listRobots = async (wallet, ...rest) => {
    reading.push(wallet);
    if (wallet === busy.wallet) await gate;
    return listRobots(wallet, ...rest);
  };
  const list = ({ session }: Owner) => service.call('GET', '/api/v1/robots', { session });

  let refused = 0;
  const many = Array.from({ length: 40 }, async () => {
    const { status } = await list(busy);
    if (status === 503) refused += 1;
    return status;
  });
  // One is read and 32 wait.
  await waitFor('the others to be refused', () => refused === 7);
  const reply = await list(other);

  expect(reply.status).toBe(200);
  expect(reading).toEqual([busy.wallet, other.wallet]);
  open();
  const codes = await Promise.all(many);
  expect(codes.filter((status) => status === 200)).toHaveLength(33);
});
