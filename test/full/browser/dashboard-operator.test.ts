import { readFile } from 'node:fs/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { evaluateRules } from '../../support/alerts.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { browse, waitAhead } from '../../support/dashboard.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const MINUTE_MS = 60_000;

let clock: TestClock;
let service: TestService;
let dashboard: Awaited<ReturnType<typeof browse<{ url: string; stop(): Promise<unknown> }>>>;

beforeAll(async () => {
  clock = createTestClock(Date.now());
  service = await startTestService({
    chain: 'mining',
    clock,
    webhooks: { key: Buffer.alloc(32), ruleOf: () => () => true },
    settings: {
      creditUrl: 'https://operator.example.org/credits',
      signup: { mode: 'open', anchors: 0, gasWei: 0n, delayMs: 0, anchorsPerDay: null },
    },
  });
  dashboard = await browse({ url: service.url, stop: service.close });
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

async function openWith(names: string[], context: BrowserContextOptions = {}) {
  const opened = await dashboard.openSignedIn('/account', { context });
  await opened.page.clock.setSystemTime(clock.now());
  const owner = await dashboard.clientOf(opened);
  const robots = [];
  for (const name of names) {
    const { body } = await owner.call('createRobot', { body: { name } });
    robots.push({ ...body.robot, client: dashboard.robotClient(String(body.api_key)) });
  }
  return {
    ...opened,
    owner,
    robots,
    show: (path: string) => opened.page.goto(dashboard.server.url + path),
  };
}

/** The page's clock goes on with that of the service. */
async function pass(page: Page, ms: number) {
  clock.advance(ms);
  await page.clock.fastForward(ms);
}

const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

describe('the overview', () => {
  it('lists incidents by kind and fleet, with message, battery and time, and acknowledges all', async () => {
    const silent = Array.from({ length: 16 }, (_, i) => `silent-${i}`);
    const { page, owner, robots, show } = await openWith([...silent, 'broken', 'empty', 'fine']);
    const { fleet } = (await owner.call('createFleet', { body: { name: 'Graz Line 3' } })).body;
    await owner.call('assignRobots', {
      body: { robot_ids: robots.slice(0, 17).map(({ id }) => id), fleet_id: fleet.id },
    });
    const clients = robots.map(({ client }) => client);
    const [broken, empty, fine] = clients.slice(16);
    await show('/');
    await page.getByRole('button', { name: 'Watch with the usual rules' }).click();
    await page.getByText('No rule watches your robots').waitFor({ state: 'detached' });
    await evaluateRules({ store: service.store, clock });
    const since = clock.now();
    for (const client of clients) await client.call('recordSamples', { body: { state: 'busy' } });
    for (let i = 0; i < 16; i += 1) {
      await pass(page, MINUTE_MS);
      await fine?.call('recordSamples', { body: { state: 'busy', battery_pct: 90 } });
      await broken?.call('recordSamples', { body: { state: 'error' } });
      await empty?.call('recordSamples', { body: { battery_pct: 9 } });
      await evaluateRules({ store: service.store, clock });
    }
    const body = {
      event_type: 'fault',
      severity: 'error',
      message: 'Gripper lost the box',
    } as const;
    await broken?.call('createEvent', { body });
    await evaluateRules({ store: service.store, clock });

    await page.reload();

    const list = page.getByRole('region', { name: 'Needs attention' });
    const incident = (text: string) => list.getByRole('listitem').filter({ hasText: text });
    const at = async (ms: number) =>
      page.evaluate<string>(`new Date(${ms}).toLocaleTimeString('en-GB').slice(0, 5)`);
    await incident(`16 offline in Graz Line 3 since ${await at(since)}`).waitFor();
    await incident('empty low on battery').getByText('9 %').waitFor();
    const failing = incident('broken in state error in Graz Line 3 since');
    await failing.getByText(await at(since + MINUTE_MS)).waitFor();
    await failing.getByText('fault: Gripper lost the box').waitFor();
    await incident('broken with an error').getByText('Gripper lost the box').waitFor();
    expect(await list.getByText('fine').count()).toBe(0);
    expect(await page.title()).toBe('(19) Overview · svc');
    await page.getByRole('link', { name: 'Alerts 19' }).waitFor();

    await list.getByRole('button', { name: 'Acknowledge all' }).click();
    await page.getByRole('heading', { name: 'Nothing needs attention' }).waitFor();
    await expect.poll(() => page.title()).toBe('Overview · svc');
    await page.getByRole('link', { name: '16 offline in Graz Line 3' }).click();
    await expect
      .poll(() => page.getByRole('rowheader').getByRole('link').count())
      .toBeGreaterThan(14);
  });

  it('shows a new account its first steps, and no empty charts', async () => {
    const { page, robots, show } = await openWith(['arm-1']);

    await show('/');
    const steps = page.getByRole('region', { name: 'First steps' });
    const done = () => steps.locator('[data-done] strong').allTextContents();
    await steps.getByText('POST').or(steps.getByText('/api/v1/telemetry')).first().waitFor();
    expect(await done()).toEqual(['Add a robot']);
    expect(await page.getByRole('region', { name: 'Events by severity' }).count()).toBe(0);

    await robots[0]?.client.call('recordSamples', { body: { state: 'busy', battery_pct: 55 } });
    await expect.poll(done).toEqual(['Add a robot', 'Send a sample']);
    await page.getByRole('region', { name: 'Events by severity' }).waitFor();
  });

  it('links its counts to the counted robots', async () => {
    const { page, robots, show } = await openWith(['arm-1', 'arm-2', 'arm-3']);
    await robots[0]?.client.call('recordSamples', { body: { state: 'busy', battery_pct: 55 } });
    await pass(page, 6 * MINUTE_MS);
    await robots[1]?.client.call('recordSamples', { body: { state: 'odd', battery_pct: 35 } });
    const named = () => page.getByRole('rowheader').getByRole('link').allTextContents();

    await show('/');
    await page.getByRole('link', { name: 'offline 1' }).click();
    await expect.poll(named).toEqual(['arm-1']);
    await expect.poll(() => row(page, 'arm-1').getByText('offline').count()).toBe(1);
    await show('/');
    await page.getByRole('link', { name: '30–40 % 1' }).click();
    await expect.poll(named).toEqual(['arm-2']);
  });

  it('reports utilization, errors, tasks and cost of a period, on the page and as CSV', async () => {
    const { page, owner, robots, show } = await openWith(['arm-1', 'arm-2']);
    const { fleet } = (await owner.call('createFleet', { body: { name: 'Graz Line 3' } })).body;
    const robot_ids = robots.slice(0, 1).map(({ id }) => id);
    await owner.call('assignRobots', { body: { robot_ids, fleet_id: fleet.id } });
    const [client] = robots.map((robot) => robot.client);
    const hoursAgo = (hours: number) =>
      new Date(clock.now() - hours * 60 * MINUTE_MS).toISOString();
    const states = ['busy', 'busy', 'busy', 'error'].map((state) => {
      return { state, recorded_at: hoursAgo(2) };
    });
    const before = { state: 'charging', recorded_at: hoursAgo(80) };
    await client?.call('recordSamples', { body: { samples: [...states, before] } });
    const fault = { event_type: 'fault', severity: 'error' } as const;
    await client?.call('createEvent', { body: { ...fault, occurred_at: hoursAgo(2) } });
    await client?.call('createEvent', { body: { ...fault, occurred_at: hoursAgo(80) } });
    await client?.call('createTask', { body: { title: 'Weld' } });

    await show('/');
    const report = page.getByRole('region', { name: 'Report' });
    const text = (part: string) => report.getByText(part).first().waitFor();
    await text('charging 50 %');
    await text('166 of 168 h not reported');
    await text('168 of 168 h not reported');
    await text('0 ETH for 0 anchored tasks');
    await text('fault 2');
    await text('claimed 1');

    await report.getByLabel('Period').selectOption('Last 24 hours');
    await text('error 25 %, busy 75 %');
    await text('23 of 24 h not reported');
    expect(page.url()).toContain('period=24h');
    await report.getByText('Graz Line 3, 1 robot').click();
    await report.getByRole('link', { name: 'arm-1' }).waitFor();
    const saving = page.waitForEvent('download');
    await report.getByRole('button', { name: 'Download CSV' }).click();
    const saved = await readFile(await (await saving).path(), 'utf8');
    expect(saved).toContain('"arm-1"');
    expect(saved).toContain('"state busy",0.75');
    expect(saved).toContain('"errors",,,,"fault",1');
  });

  it('shows the values of a bar that is tapped, and its list after a second tap', async () => {
    const { page, robots, show } = await openWith(['arm-1'], { hasTouch: true });
    await robots[0]?.client.call('createEvent', { body: { event_type: 'placed' } });

    await show('/');
    const chart = page.getByRole('region', { name: 'Events by severity' });
    const bar = chart.locator('svg a').last();
    await bar.tap();
    await chart.getByText(/: 1 info, 0 warn, 0 error$/).waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
    await bar.tap();

    await page.getByText('placed', { exact: true }).waitFor();
  });

  it('links the bar of an hour to the events of that hour', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    const report = (event_type: string) =>
      robots[0]?.client.call('createEvent', { body: { event_type } });
    await report('picked');
    await pass(page, 120 * MINUTE_MS);
    await report('placed');

    await show('/');
    const chart = page.getByRole('region', { name: 'Events by severity' });
    await chart.locator('svg a').last().click();

    await page.getByText('placed', { exact: true }).waitFor();
    expect(await page.getByText('picked', { exact: true }).count()).toBe(0);
  });
});

describe('a robot that was not seen for five minutes', () => {
  it('is offline in its row and in the filter, on a page that is up to date', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    await robots[0]?.client.call('recordSamples', { body: { state: 'busy' } });

    await show('/robots');
    await row(page, 'arm-1').getByText('busy').waitFor();
    await pass(page, 6 * MINUTE_MS);

    await row(page, 'arm-1').getByText('offline').waitFor();
    await page.getByText(/^Updated/).waitFor();
    await page.getByLabel('State', { exact: true }).selectOption('offline');
    await row(page, 'arm-1').waitFor();
  });

  it('is offline on its page, even if it never reported a state', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    await robots[0]?.client.call('recordSamples', { body: { battery_pct: 50 } });

    await show(`/robots/${robots[0]?.id}`);
    await page.getByRole('heading', { name: 'arm-1' }).waitFor();
    await pass(page, 6 * MINUTE_MS);

    await page.locator('.badge', { hasText: 'offline' }).waitFor();
  });
});

describe('without credit', () => {
  it('a task shows that its proof was refused, and where to get credit', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    const [robot] = robots;
    const { task } =
      (await robot?.client.call('createTask', { body: { title: 'Sort' } }))?.body ?? {};
    await robot?.client
      .call('completeTask', { params: { id: String(task?.id) }, body: { proof: { n: 2 } } })
      .catch(() => {});

    await show(`/tasks/${task?.id}`);
    const card = page.getByRole('region', { name: 'Status' });
    await card.getByText('Refused for lack of credit').waitFor();
    const link = card.getByRole('link', { name: 'Get credits' });
    expect(await link.getAttribute('href')).toBe('https://operator.example.org/credits');
    await show('/tasks?state=refused');
    await row(page, 'Sort').getByText('no credit').waitFor();
    await show('/account');
    await page.getByText('exhausted').waitFor();
    await page.getByText('1 proof refused, the first').waitFor();
  });
});

describe('an event that was delivered late', () => {
  it('shows when it happened, and how much later it arrived', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    const occurred_at = new Date(clock.now() - 9 * 60 * MINUTE_MS).toISOString();
    await robots[0]?.client.call('createEvent', { body: { event_type: 'docked', occurred_at } });

    await show('/events');

    await row(page, 'docked').getByText('occurred 9 hr. ago').waitFor();
    await row(page, 'docked').getByText('received 9 hr. later').waitFor();
    await robots[0]?.client.call('createEvent', { body: { event_type: 'undocked' } });
    await waitAhead(page, row(page, 'undocked').getByText(/^received/));
    const from = new Date(clock.now() - 8 * 60 * MINUTE_MS).toISOString();
    await show(`/events?from=${from}`);
    await row(page, 'undocked').waitFor();
    expect(await row(page, 'docked').count()).toBe(1);
  });
});

describe('a robot whose clock is behind', () => {
  it('shows by how much, and how old its state is', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    const [arm] = robots;
    await arm?.client.call('recordSamples', { body: { state: 'busy' } });
    await pass(page, 60 * MINUTE_MS);
    for (let i = 0; i < 2; i += 1) {
      const recorded_at = new Date(clock.now() - 2 * 24 * 60 * MINUTE_MS).toISOString();
      await arm?.client.call('recordSamples', { body: { state: 'idle', recorded_at } });
      await pass(page, MINUTE_MS);
    }

    await show('/robots');

    await row(page, 'arm-1').getByText('reported 1 hr. ago').first().waitFor();
    await row(page, 'arm-1').getByText('clock 2 days behind').waitFor();
    await show(`/robots/${arm?.id}`);
    await page.getByText("This robot's clock is 2 days behind").waitFor();
  });
});

describe('the search', () => {
  it('finds robots, fleets, tasks and pages from the keyboard', async () => {
    const { page, owner, robots, show } = await openWith(['arm-1', 'cart-2']);
    await owner.call('createFleet', { body: { name: 'Hall North' } });
    const body = { title: 'Weld the seam' };
    const { task } = (await robots[0]?.client.call('createTask', { body }))?.body ?? {};
    await show('/events');
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    const results = page.getByRole('list', { name: 'Results' });

    await page.keyboard.press('/');
    await page.getByPlaceholder('Name, title, id or hash').fill('cart');
    await results.getByRole('link', { name: 'cart-2' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/robots/${robots[1]?.id}`);

    for (const [typed, name] of [
      ['hall', 'Hall North'],
      ['webh', 'Webhooks'],
      [String(task?.id).slice(0, 13), 'Weld the seam'],
      ['weld', 'Weld the seam'],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder('Name, title, id or hash').fill(typed);
      await results.getByRole('link', { name }).waitFor();
      if (typed !== 'weld') await page.keyboard.press('Escape');
    }
    await results.getByRole('link', { name: 'Weld the seam' }).click();
    await page.waitForURL(`**/tasks/${task?.id}`);
  });
});

describe('the list of tasks', () => {
  it('is searched, counted, and saved as CSV', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    for (const title of ['Sort', 'Weld left', 'Weld right']) {
      await robots[0]?.client.call('createTask', { body: { title } });
    }
    await show('/tasks?search=weld');
    await row(page, 'Weld right').waitFor();
    await page.getByText('2 in total').waitFor();
    expect(await row(page, 'Sort').count()).toBe(0);

    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('tasks.csv');
    const text = await readFile(await saved.path(), 'utf8');
    expect(text).toContain('Weld left');
    expect(text).not.toContain('Sort');
  });
});

describe('moving robots', () => {
  it('shows the robots before it moves them, and can undo the move', async () => {
    const { page, owner, show } = await openWith(['arm-1', 'arm-2', 'arm-3']);
    const { fleet } = (await owner.call('createFleet', { body: { name: 'Hall' } })).body;
    const fleets = async () =>
      (await owner.call('listRobots')).body.items.map(({ fleet_id }) => fleet_id);
    await show('/robots');

    await page.getByLabel('Select arm-1').check();
    await page.getByLabel('Select arm-2').check();
    expect(await page.getByRole('button', { name: 'Preview move' }).isDisabled()).toBe(true);
    await page.getByLabel('Move to').selectOption('Hall');
    await page.getByRole('button', { name: 'Preview move' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByRole('listitem').count()).toBe(2);
    await dialog.getByRole('listitem').filter({ hasText: 'No fleet → Hall' }).first().waitFor();
    expect(await fleets()).toEqual([null, null, null]);
    await dialog.getByRole('button', { name: 'Move 2 robots' }).click();
    await page.getByText('2 robots moved to Hall').waitFor();
    expect(await fleets()).toEqual([fleet.id, fleet.id, null]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('2 robots moved to Hall').waitFor({ state: 'detached' });

    expect(await fleets()).toEqual([null, null, null]);
  });
});

describe('alerts', () => {
  it('follow the rules, are acknowledged, and stay in the history', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    await robots[0]?.client.call('recordSamples', { body: { battery_pct: 25 } });
    await show('/alerts');

    await page.getByLabel('Battery low: below N percent').fill('30');
    await page.getByLabel('Battery low', { exact: true }).click();
    await expect.poll(() => page.getByLabel('Battery low', { exact: true }).isChecked()).toBe(true);
    await evaluateRules({ store: service.store, clock });
    const open = page.getByRole('region', { name: 'Open alerts', exact: true });
    await waitAhead(page, open.getByRole('link', { name: 'arm-1' }));
    await open.getByRole('button', { name: 'Acknowledge' }).click();
    await open.getByText('acknowledged').waitFor();
    clock.advance(1000);
    await robots[0]?.client.call('recordSamples', { body: { battery_pct: 80 } });
    await evaluateRules({ store: service.store, clock });

    await waitAhead(page, open.getByText('No open alerts'));
    await page.getByRole('region', { name: 'History', exact: true }).getByText('closed').waitFor();
  });
});

describe('a rule about states', () => {
  it('names the states in which a robot opens an alert', async () => {
    const { page, owner, robots, show } = await openWith(['arm-1']);
    await robots[0]?.client.call('recordSamples', { body: { state: 'stuck' } });
    await show('/alerts');
    await page.getByLabel('Robot in a bad state: states').fill('error, stuck');
    await page.getByLabel('Robot in a bad state', { exact: true }).click();
    const rules = async () => (await owner.call('listAlertRules')).body.rules;
    const rule = { kind: 'robot_state', threshold: 1, states: ['error', 'stuck'] };
    await expect.poll(rules).toEqual([rule]);

    await pass(page, MINUTE_MS);
    await evaluateRules({ store: service.store, clock });

    const open = page.getByRole('region', { name: 'Open alerts', exact: true });
    await waitAhead(page, open.getByRole('link', { name: 'arm-1' }));
  });
});

describe('webhooks', () => {
  it('are created with a secret that is shown once, tested, replayed and rotated', async () => {
    const { page, show } = await openWith([]);
    await show('/webhooks');
    const dialog = page.getByRole('dialog');
    const secret = () => dialog.locator('pre').first().textContent();
    const keep = async () => {
      await dialog.getByLabel('I have saved the secret').check();
      await dialog.getByRole('button', { name: 'Done' }).click();
    };

    await page.getByRole('button', { name: 'Create webhook' }).click();
    await dialog.getByLabel('URL').fill('https://127.0.0.1:9/hook');
    await dialog.getByLabel('Task verified').check();
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByText('Copy this secret now').waitFor();
    const first = await secret();
    expect(first).toMatch(/^whsec_/);
    await keep();
    await page.getByText('task.verified').waitFor();
    const sent = page.waitForResponse('**/test');
    await page.getByRole('button', { name: 'Send test: 127.0.0.1:9' }).click();
    await sent;
    await page
      .getByText('The test is on its way to 127.0.0.1:9. The list shows the answer.')
      .waitFor();
    const replay = page.getByRole('button', { name: 'Replay test' });
    await waitAhead(page, replay);
    const replayed = page.waitForResponse('**/replay');
    await replay.click();
    expect((await replayed).status()).toBe(200);
    await page.getByRole('button', { name: 'Rotate secret: 127.0.0.1:9' }).click();
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByText('Copy this secret now').waitFor();
    expect(await secret()).not.toBe(first);
    await keep();
    await page.getByRole('button', { name: 'Disable: 127.0.0.1:9' }).click();

    await page.getByRole('button', { name: 'Enable: 127.0.0.1:9' }).waitFor();
  });

  it('are edited without undoing what a colleague changed meanwhile', async () => {
    const { page, owner, show } = await openWith([]);
    const { webhook } = (
      await owner.call('createWebhook', {
        body: { url: 'https://127.0.0.1:9/hook', events: ['task.verified'] },
      })
    ).body;
    await show('/webhooks');
    await page.getByRole('button', { name: 'Edit: 127.0.0.1:9' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Alert opened').check();
    const url = 'https://127.0.0.1:9/moved';
    await owner.call('patchWebhook', { params: { id: webhook.id }, body: { url } });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });

    const { items } = (await owner.call('listWebhooks')).body;
    expect(items).toMatchObject([{ url, events: ['task.verified', 'alert.opened'] }]);
  });
});

describe('times', () => {
  it('are in UTC everywhere once UTC is chosen', async () => {
    const opened = await dashboard.openSignedIn('/account', {
      context: { timezoneId: 'Asia/Kolkata' },
    });
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const { body } = await owner.call('createRobot', { body: { name: 'arm-1' } });
    const robot = dashboard.robotClient(String(body.api_key));
    const { task } = (await robot.call('createTask', { body: { title: 'Sort' } })).body;
    await page.goto(`${dashboard.server.url}/tasks/${task.id}`);
    const claim = page.locator('.moments');
    await claim.getByText('GMT+5:30').waitFor();

    await page.getByRole('button', { name: 'Local time: switch to UTC' }).click();
    await claim.getByText(`${task.created_at.slice(11, 19)} UTC`).waitFor();
    await page.reload();
    await claim.getByText(`${task.created_at.slice(11, 19)} UTC`).waitFor();
    await page.goto(`${dashboard.server.url}/tasks?from=2026-11-20T08:30:00.000Z`);

    expect(await page.getByLabel('From').inputValue()).toBe('2026-11-20T08:30');
  });
});

describe('a long list', () => {
  it('loads older items on scroll, renders few, and keeps its position', async () => {
    const { page, robots, show } = await openWith(['arm-1']);
    for (let i = 0; i < 320; i += 1) {
      await robots[0]?.client.call('createTask', { body: { title: `task ${i}` } });
      clock.advance(1);
    }
    await show('/tasks');
    const table = page.getByRole('region', { name: 'Table of tasks' });
    await table.getByText('task 319').waitFor();

    await expect
      .poll(async () => {
        await table.evaluate((list) => {
          list.scrollTop = list.scrollHeight;
        });
        return table.getByText('task 0', { exact: true }).count();
      })
      .toBe(1);
    expect(await table.getByRole('row').count()).toBeLessThan(50);
    await expect.poll(() => page.url()).toMatch(/tasks-row=3\d\d/);
    await page.reload();
    await table.getByText('task 0', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show the newest' }).click();
    await table.getByText('task 319').waitFor();
  });
});
