import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
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

/** Replaces the streams of each page that is loaded from now on: they send what the test says. */
const replaceStreams = `
  window.streams = [];
  window.EventSource = class {
    static CONNECTING = 0;
    readyState = 1;
    constructor() { window.streams.push(this); }
    close() { this.readyState = 2; }
  };`;

async function openWithoutStream(address: string) {
  const opened = await dashboard.openSignedIn('/account');
  const { page, loaded } = opened;
  await page.addInitScript(replaceStreams);
  await page.goto(dashboard.server.url + address);
  await page.getByText(/^Updated/).waitFor();
  const send = (changes: unknown) =>
    page.evaluate(`window.streams.at(-1).onmessage({ data: '${JSON.stringify({ changes })}' })`);
  const streams = () => page.evaluate<number>('window.streams.length');
  /** How often the page has read an endpoint. */
  const reads = (path: string) => loaded.filter((url) => url.includes(path)).length;
  return { ...opened, send, streams, reads };
}

describe('the stream', () => {
  it('shows what a robot reports at once', async () => {
    const opened = await dashboard.openSignedIn('/events');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const made = await owner.call('createRobot', { body: { name: 'arm' } });
    const robot = dashboard.robotClient(made.body.api_key ?? '');
    await page.addInitScript(countMessages);
    await page.reload();
    await page.getByText(/^Updated/).waitFor();
    await waitFor('the first message', async () => (await messages(page)) > 0);
    // Its own time stands still: the stream does not count as broken.
    await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 2_000);

    const before = await messages(page);
    await robot.call('createEvent', { body: { event_type: 'moved', message: 'seen at once' } });

    await waitFor('the message', async () => (await messages(page)) > before);
    await waitFor('the event', async () => {
      await page.clock.runFor(10);
      return (await page.getByText('seen at once').count()) > 0;
    });
  });

  it('keeps a page up to date without reads while nothing changes', async () => {
    const { page, send, streams, reads } = await openWithoutStream('/events');
    await send(null);
    await page.clock.runFor(2_000);
    await waitFor('the reads after the first message', () => reads('/api/v1/events') >= 2);
    const before = reads('/api/v1/events');

    for (let i = 0; i < 8; i += 1) {
      await page.clock.runFor(15_000);
      await send([]);
    }

    await page.getByText(/^Updated/).waitFor();
    expect(await streams()).toBe(1);
    expect(reads('/api/v1/events')).toBe(before);
  });

  it('that falls silent is opened again, and meanwhile everything is read again', async () => {
    const { page, send, streams, reads } = await openWithoutStream('/events');
    await send(null);
    await page.clock.runFor(2_000);
    const [opened, before] = [await streams(), reads('/api/v1/events')];

    await page.clock.runFor(20_000);

    await waitFor('another stream', async () => (await streams()) > opened);
    await page.clock.runFor(2_000);
    await waitFor('another read', () => reads('/api/v1/events') > before);
  });

  it('leaves what it does not report to polls', async () => {
    const { page, send, reads } = await openWithoutStream('/webhooks');
    await send(null);
    const before = reads('/api/v1/webhooks');

    await page.clock.runFor(11_000);

    await waitFor('another read', () => reads('/api/v1/webhooks') > before);
  });
});
