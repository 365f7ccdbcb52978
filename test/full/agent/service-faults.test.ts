import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newEvidence, startTestService, type TestService } from '../../support/service.ts';
import { type Passing, type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type WorkingRobot, withWorkingRobot } from '../../support/working-robot.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 120_000;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
});

afterAll(() => service?.close());

const withRobot = (test: (robot: WorkingRobot<ServiceProxy>) => Promise<void>) =>
  withWorkingRobot(service, startServiceProxy, test);

function answer({ response }: Passing, status: number, body: object | string, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

describe.concurrent('each acknowledged record arrives once', () => {
  it('soon after many calls failed together, which count as one failure', { timeout: LONG }, () =>
    withRobot(async ({ line, work, connected, expectAllOnce }) => {
      await connected();
      const held: Passing[] = [];
      line.handle(async (passing) => {
        if (passing.path.endsWith('/complete')) held.push(passing);
        else await passing.pass();
      });
      for (let n = 0; n < 16; n++) await work({ samples: 1, isClaimed: true });
      await waitFor('sixteen calls', () => held.length === 16, LONG);
      line.restore();
      for (const { response } of held) response.destroy();

      await expectAllOnce();
    }),
  );

  it('if every second answer is a 503 for a while', { timeout: LONG }, () =>
    withRobot(async ({ line, work, connected, expectAllOnce }) => {
      await connected();
      let count = 0;
      line.handle(async (passing) => {
        count += 1;
        if (count % 2 === 0) return passing.pass();
        answer(passing, 503, { error: 'storage_unavailable', message: 'Later.' });
      });
      for (let n = 0; n < 3; n++) await work();
      await waitFor('a storm', () => count >= 6, LONG);
      line.restore();

      await expectAllOnce();
    }),
  );

  it('if a proxy refuses large bodies', { timeout: LONG }, () =>
    withRobot(async ({ line, work, connected, expectAllOnce }) => {
      await connected();
      line.handle(async (passing) => {
        if (passing.body.length <= 2_000) return passing.pass();
        answer(passing, 413, '<html>Request Entity Too Large</html>', {
          'content-type': 'text/html',
        });
      });
      await work({ samples: 50, sample: 200 });

      await expectAllOnce();
    }),
  );

  it('if the service was restored to before the claim', { timeout: LONG }, () =>
    withRobot(async ({ line, work, connected, expectAllOnce }) => {
      await connected();
      line.handle(async (passing) => {
        if (!passing.path.endsWith('/complete')) return passing.pass();
        answer(passing, 404, { error: 'not_found', message: 'No such task.' });
      });
      await work({ isClaimed: true });

      await expectAllOnce();
      // Claim and completion.
      expect(line.seenAt('/api/v1/tasks/batch')).toHaveLength(1);
    }),
  );

  it('if the answer about a claim older than this spool is lost', { timeout: LONG }, () =>
    withRobot(async ({ line, agent, apiKey, connected }) => {
      await connected();
      const claim = { id: randomUUID(), title: 'Pick' };
      const occurred_at = '2026-01-01T00:00:00.000Z';
      await service.call('POST', '/api/v1/tasks', { apiKey, body: { ...claim, occurred_at } });
      let isLost = false;
      line.handle(async (passing) => {
        if (isLost || passing.method !== 'GET' || !passing.path.endsWith(claim.id)) {
          return passing.pass();
        }
        isLost = true;
        passing.response.destroy();
      });
      await agent.call('POST', '/api/v1/tasks', { body: claim });

      const { status } = await agent.complete(claim.id, newEvidence(), { prefer: 'wait=100' });

      expect([isLost, status]).toEqual([true, 200]);
    }),
  );
});

describe.concurrent('a record that makes the service fail each time', () => {
  it('does not delay other records of its kind', { timeout: LONG }, () =>
    withRobot(async ({ line, agent, connected }) => {
      await connected();
      line.handle(async (passing) => {
        if (!passing.body.includes('poison')) return passing.pass();
        answer(passing, 500, { error: 'internal_error', message: 'Oh.' });
      });
      const poison = await agent.claim({ title: 'poison' });
      for (const message of ['poison', 'one', 'two']) {
        await agent.call('POST', '/api/v1/events', { body: { event_type: 'info', message } });
      }
      await agent.record(
        Array.from({ length: 8 }, (_, n) => ({ state: n === 3 ? 'poison' : 'busy' })),
      );
      const completed = await agent.complete(await agent.claim(), newEvidence(), {
        prefer: 'wait=100',
      });
      const left = await waitFor(
        'the others',
        async () => {
          const { queues } = await agent.status();
          const { claims, events, samples } = queues;
          const counts = [claims.count, events.count, samples.count];
          return counts.every((count) => count === 1) && counts;
        },
        LONG,
      );

      expect(completed.status).toBe(200);
      expect(left).toEqual([1, 1, 1]);
      expect((await agent.call('GET', `/api/v1/tasks/${poison}`)).body.task.status).toBe('claimed');
    }),
  );
});

describe.concurrent('Retry-After', () => {
  it.each([
    ['of the service', { error: 'overloaded', message: 'Later.' }],
    ['of a proxy', '<html>Service Unavailable</html>'],
  ])('%s is obeyed', { timeout: LONG }, (_, body) =>
    withRobot(async ({ line, agent, connected }) => {
      await connected();
      const askedAt: number[] = [];
      line.handle(async (passing) => {
        askedAt.push(performance.now());
        if (askedAt.length > 1) return passing.pass();
        answer(passing, 503, body, { 'retry-after': '1' });
      });
      await agent.claim();
      await waitFor('a second try', () => askedAt.length > 1, LONG);

      const [first = 0, second = 0] = askedAt;
      expect(second - first).toBeGreaterThan(900);
    }),
  );

  it('is obeyed even if an earlier call is answered meanwhile', { timeout: LONG }, () =>
    withRobot(async ({ line, agent, connected }) => {
      await connected();
      const askedAt: number[] = [];
      line.handle(async (passing) => {
        askedAt.push(performance.now());
        if (askedAt.length === 2) {
          const body = { error: 'overloaded', message: 'Later.' };
          return answer(passing, 503, body, { 'retry-after': '1' });
        }
        await waitFor('the other call', () => askedAt.length > 1, LONG);
        return passing.pass();
      });
      await Promise.all([agent.claim(), agent.claim()]);
      await waitFor('a third call', () => askedAt.length > 2, LONG);

      const [, second = 0, third = 0] = askedAt;
      expect(third - second).toBeGreaterThan(900);
    }),
  );
});
