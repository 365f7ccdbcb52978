import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { type Dashboard, openDashboard } from '../../support/dashboard.ts';
import { waitFor } from '../../support/wait-for.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

/** Counts what arrives over the stream of each page that is loaded from now on. */
const countMessages = `
  window.messages = 0;
  window.EventSource = class extends EventSource {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', () => { window.messages += 1; });
    }
  };`;
const messages = (page: Page) => page.evaluate<number>('window.messages');

describe('the stream', () => {
  it('shows what a robot reports before the next poll', async () => {
    const opened = await dashboard.openSignedIn('/events');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const made = await owner.call('createRobot', { body: { name: 'arm' } });
    const robot = dashboard.robotClient(made.body.api_key ?? '');
    await page.addInitScript(countMessages);
    await page.reload();
    await page.getByText(/^Updated/).waitFor();
    await waitFor('the first message', async () => (await messages(page)) > 0);
    // Its own time stands still: no poll is due any more.
    await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 2_000);

    const before = await messages(page);
    await robot.call('createEvent', { body: { event_type: 'moved', message: 'seen at once' } });

    await waitFor('the message', async () => (await messages(page)) > before);
    // Timers of the page run so little that no poll is due.
    await waitFor('the event', async () => {
      await page.clock.runFor(10);
      return (await page.getByText('seen at once').count()) > 0;
    });
  });
});
