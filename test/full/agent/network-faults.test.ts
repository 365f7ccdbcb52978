import { afterAll, beforeAll, describe, it } from 'vitest';
import { startTestService, type TestService } from '../../support/service.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type WorkingRobot, withWorkingRobot } from '../../support/working-robot.ts';

/** Room for the agent's own time-outs and a busy machine; nothing here is a measure of speed. */
const LONG = 240_000;

/** The line's rates below stand for a twentieth, and so does the time that the service gives a request to arrive. */
const ARRIVAL_MS = 1_500;
const KILOBYTE_PER_SECOND = 20 * 1024;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({
    chain: 'mining',
    timeouts: { headersMs: ARRIVAL_MS, requestMs: ARRIVAL_MS, unreadMs: 30_000, checkMs: 100 },
  });
});

afterAll(() => service?.close());

const withRobot = (test: (robot: WorkingRobot<TcpProxy>) => Promise<void>) =>
  withWorkingRobot(service, startTcpProxy, test);

describe.concurrent('each acknowledged record arrives once', () => {
  it('if nothing listens for a while', { timeout: LONG }, () =>
    withRobot(async ({ line, agent, work, connected, expectAllOnce }) => {
      await connected();
      await line.refuse();
      for (let n = 0; n < 3; n++) await work();
      await waitFor('a try', async () => !(await agent.status()).connected, LONG);
      await line.restore();

      await expectAllOnce();
    }),
  );

  it.each([
    ['requests', { up: 700 }],
    ['answers', { down: 250 }],
  ])('if connections are reset in the middle of %s', { timeout: LONG }, (_, bytes) =>
    withRobot(async ({ line, agent, work, connected, expectAllOnce }) => {
      await connected();
      line.cutAfter(bytes);
      for (let n = 0; n < 3; n++) await work();
      await waitFor('a reset', async () => (await agent.status()).last_error, LONG);
      await line.restore();

      await expectAllOnce();
    }),
  );

  it(
    'if the line is silent for longer than any call may take, with its connections open',
    // It waits for the time-out of a call.
    { timeout: LONG },
    () =>
      withRobot(async ({ line, agent, work, connected, expectAllOnce }) => {
        await connected();
        await work();
        line.stall();
        for (let n = 0; n < 8; n++) await work();
        await waitFor(
          'a call to be given up',
          async () => (await agent.status()).last_error?.code === 'timed_out',
          LONG,
        );
        await line.restore();

        await expectAllOnce();
      }),
  );

  it('over a line of 1 KB/s', { timeout: LONG }, () =>
    withRobot(async ({ line, work, connected, expectAllOnce }) => {
      await connected();
      line.throttle(KILOBYTE_PER_SECOND);
      await work({ sample: 3_000, proof: 100 });
      for (let n = 0; n < 4; n++) await work({ samples: 1, proof: 12_000 });

      await expectAllOnce();
    }),
  );
});
