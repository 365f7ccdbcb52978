import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { browse, waitAhead } from '../../support/dashboard.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

let service: TestService;
let dashboard: Awaited<ReturnType<typeof browse<{ url: string; stop(): Promise<unknown> }>>>;

beforeAll(async () => {
  service = await startTestService({ chain: 'mining', settings: { anchorTimeoutMs: 1 } });
  dashboard = await browse({ url: service.url, stop: service.close });
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

// The second test stops the chain.
describe('a strip above every view', { shuffle: false }, () => {
  it('says that the service does not answer, after 5 s', async () => {
    const { page } = await dashboard.openSignedIn('/robots');
    await page.getByText('No robots yet').waitFor();
    let asked = 0;
    await page.route('**/api/v1/service-status', () => {
      asked += 1;
    });
    await waitFor('a request that hangs', async () => {
      await page.clock.runFor(1_000);
      return asked > 0;
    });
    const strip = page.getByRole('alert').getByText('The service does not answer.');

    await page.clock.runFor(2_000);
    expect(await strip.count()).toBe(0);
    await page.clock.runFor(3_000);
    await strip.waitFor();

    await page.unrouteAll();
    await page.clock.runFor(6_000);
    await strip.waitFor({ state: 'detached' });
  });

  it('says since when anchoring waits, why, and how many proofs are stored', async () => {
    const opened = await dashboard.openSignedIn('/account', {
      context: { timezoneId: 'UTC' },
    });
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const { body } = await owner.call('createRobot', { body: { name: 'arm-1' } });
    const robot = dashboard.robotClient(String(body.api_key));
    await service.endChain();
    const tasks = [];
    for (const title of ['Sort', 'Pack']) {
      const { task } = (await robot.call('createTask', { body: { title } })).body;
      tasks.push(task);
      const done = { params: { id: task.id }, body: { proof: { title } } };
      await robot.call('completeTask', done);
    }
    const { since } = (await owner.call('getServiceStatus')).body.waiting;

    await page.goto(`${dashboard.server.url}/tasks`);

    const text = `Anchoring has been waiting since ${since?.slice(11, 16)}: the chain does not answer. 2 proofs are stored.`;
    await waitAhead(page, page.getByRole('status').getByText(text));
    const row = page.getByRole('row').filter({ hasText: 'Sort' });
    await row.getByText('Waits: the chain does not answer').waitFor();
    await page.goto(`${dashboard.server.url}/tasks/${tasks[1]?.id}`);
    await page.getByText('Waits: the chain does not answer').waitFor();
  });
});
