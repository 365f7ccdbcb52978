import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { HttpResponse, http } from 'msw';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { browse, type Dashboard, openDashboard, waitAhead } from '../../support/dashboard.ts';
import { answerPage } from '../../support/page-answers.ts';
import { type DevProcess, startDev } from '../../support/programs.ts';
import { waitFor } from '../../support/wait-for.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

/** Presses Tab until what has the focus is called so. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(
      '(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim()',
    );
    if (focused === name) return;
  }
  throw new Error(`Nothing called ${name} takes the focus`);
}

/** Width of the outline around what has the focus, in pixels. */
const outline = (page: Page) =>
  page.evaluate<number>('parseFloat(getComputedStyle(document.activeElement).outlineWidth)');

describe('with the keyboard only', () => {
  it('a user signs in, sees the focus, and moves from view to view', async () => {
    const { page } = await dashboard.open('/sign-in');
    await page.getByRole('button', { name: 'Test wallet' }).waitFor();

    await tabTo(page, 'Test wallet');
    expect(await outline(page)).toBeGreaterThanOrEqual(1);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await tabTo(page, 'Fleets');
    expect(await outline(page)).toBeGreaterThanOrEqual(1);
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { name: 'Fleets' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Fleets');
    await expect.poll(() => page.title()).toBe('Fleets · svc');
  });

  it('a dialog opens, keeps the focus, and returns it', async () => {
    const { page } = await dashboard.openSignedIn('/fleets');
    await page.getByText('No fleets yet').waitFor();

    await tabTo(page, 'Add fleet');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByLabel('Name').waitFor();
    await waitFor('the focus in it', () =>
      page.evaluate<boolean>('document.activeElement.tagName === "INPUT"'),
    );
    for (let presses = 0; presses < 20; presses++) await page.keyboard.press('Tab');
    const isInside = 'document.activeElement.closest("[role=dialog]") !== null';
    expect(await page.evaluate(isInside)).toBe(true);
    await page.keyboard.press('Escape');

    await waitFor('the focus back', () =>
      page.evaluate<boolean>('document.activeElement.textContent === "Add fleet"'),
    );
  });
});

describe('a dialog with a form', () => {
  it('stays open after a click outside and Escape once something was entered', async () => {
    const { page } = await dashboard.openSignedIn('/fleets');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add fleet' }).click();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Add fleet' }).click();
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await name.fill('Hall');

    await page.mouse.click(5, 400);
    await page.keyboard.press('Escape');

    expect(await name.inputValue()).toBe('Hall');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
  });
});

describe('the search of an account with many tasks', () => {
  /** Searches for a text of the only task, which is older than the tasks that one request searches. */
  async function search(textOf: (task: { id: string; title: string }) => string) {
    const opened = await dashboard.openSignedIn('/account');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const { body } = await owner.call('createRobot', { body: { name: 'rover' } });
    const robot = dashboard.robotClient(String(body.api_key));
    const { task } = (await robot.call('createTask', { body: { title: 'Sweep aisle 9' } })).body;
    const isFirst = (url: URL) =>
      url.pathname === '/api/v1/tasks' && !url.searchParams.has('cursor');
    await page.route(isFirst, (route) =>
      route.fulfill({ json: { items: [], next_cursor: `${Date.now() + 1000}_${task.id}` } }),
    );
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByLabel('Search robots, fleets, tasks and pages').fill(textOf(task));
    return page;
  }

  it('finds an old task by its id', async () => {
    const page = await search(({ id }) => id.toUpperCase());

    await page.getByRole('link', { name: 'Sweep aisle 9' }).click();

    await page.getByRole('heading', { name: 'Sweep aisle 9' }).waitFor();
  });

  it('says that it read only the newest tasks, and links to all', async () => {
    const page = await search(({ title }) => title);

    await page.getByText('Nothing among the newest tasks.').waitFor();
    await page.getByRole('link', { name: 'Search all tasks' }).click();

    await page.getByRole('link', { name: 'Sweep aisle 9' }).waitFor();
    expect(new URL(page.url()).searchParams.get('search')).toBe('sweep aisle 9');
  });
});

describe('a search while tasks cannot be read', () => {
  it('says so, and finds robots', async () => {
    const opened = await dashboard.openSignedIn('/account');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    await owner.call('createRobot', { body: { name: 'rover' } });
    await answerPage(
      page,
      http.get('*/api/v1/tasks', () =>
        HttpResponse.json({ error: 'overloaded', message: 'Too busy.' }, { status: 503 }),
      ),
    );
    await page.getByRole('button', { name: 'Search' }).click();
    const box = page.getByLabel('Search robots, fleets, tasks and pages');
    await box.fill('sweep');

    const alert = page.getByRole('alert');
    await alert.getByText('Could not search the tasks: Too busy.').waitFor();
    expect(await page.getByText('Nothing found').count()).toBe(0);
    await box.fill('rov');

    await page.getByRole('link', { name: 'rover' }).waitFor();
    await alert.waitFor();
  });
});

describe('the colors', () => {
  const scheme = (page: Page) =>
    page.evaluate('document.documentElement.getAttribute("data-mantine-color-scheme")');

  it('follow the system until others are chosen, which are kept', async () => {
    const { page } = await dashboard.open('/verify', { context: { colorScheme: 'dark' } });
    await page.getByText('By a hash, an id or an address').waitFor();
    await expect.poll(() => scheme(page)).toBe('dark');

    await page.getByRole('button', { name: 'Use light colors' }).click();
    await page.getByRole('button', { name: 'Use dark colors' }).waitFor();
    await page.reload({ waitUntil: 'commit' });
    await page.getByText('By a hash, an id or an address').waitFor();

    await expect.poll(() => scheme(page)).toBe('light');
  });
});

describe('an empty page', () => {
  it('shows a request that fills it', async () => {
    const opened = await dashboard.openSignedIn('/account');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const token = await owner.call('createToken', { body: { name: 'ci', scope: 'write' } });
    const robot = await owner.call('createRobot', { body: { name: 'arm-1' } });
    const env = {
      ...process.env,
      SVC_TOKEN: String(token.body.secret),
      ROBOT_KEY: String(robot.body.api_key),
    };

    for (const [address, filled] of [
      ['/fleets', 'Hall 1'],
      ['/tasks', 'Pick parcels'],
      ['/events', 'low_light'],
    ] as const) {
      await page.goto(dashboard.server.url + address);
      const request = await page.locator('pre', { hasText: 'curl' }).textContent();
      await promisify(execFile)('bash', ['-c', request ?? ''], { env });
      await page.getByText(filled).first().waitFor();
    }
  });
});

describe('without a response', () => {
  it('a view reports it, and retries on request', async () => {
    const { page, context } = await dashboard.openSignedIn('/tasks');
    await page.getByText('No tasks').waitFor();

    await context.setOffline(true);
    await page.getByLabel('Status').selectOption('Verified');
    await waitAhead(page, page.getByText('This could not be read'));
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();

    await page.getByText('No tasks').waitFor({ timeout: 60_000 });
  });
});

describe('an interrupted response', () => {
  it('is read again', async () => {
    const { page } = await dashboard.openSignedIn('/account');
    const half = () => HttpResponse.text('{"items": [', { headers: { etag: '"half"' } });
    await answerPage(page, http.get('*/api/v1/tasks', half, { once: true }));

    await page.goto(`${dashboard.server.url}/tasks`);

    await page.getByText('No tasks').waitFor();
  });
});

describe('while the service is down', () => {
  let folder: string;
  let dev: DevProcess;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-restart-'));
    dev = await startDev(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('a view reports it, and recovers by itself with the service', async () => {
    const { url } = dev;
    const own = await browse({ url, stop: () => dev.stop() });
    onTestFinished(own.stop);
    const { page, loaded } = await own.openSignedIn('/robots');
    await page.getByText('No robots yet').waitFor();
    // Views are read ahead soon after the first one.
    await waitFor('the view of events', () =>
      loaded.some((url) => url.includes('/assets/events-')),
    );

    await dev.stop();
    await waitAhead(page, page.getByText('Out of date: updated'));
    await page.getByRole('link', { name: 'Events' }).click();
    await waitAhead(page, page.getByText('This could not be read'));
    dev = await startDev(folder, new URL(url).port);

    await waitAhead(page, page.getByText('No events'));
    await page.getByText(/^Updated/).waitFor();
  });
});

describe('with reduced motion', () => {
  it('nothing moves', async () => {
    const { page } = await dashboard.openSignedIn('/fleets', {
      context: { reducedMotion: 'reduce' },
    });
    await page.getByText('No fleets yet').waitFor();

    await page.getByRole('button', { name: 'Add fleet' }).click();
    await page.getByRole('dialog').waitFor();

    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
  });
});

describe('in another time zone', () => {
  it('times are local, with their zone', async () => {
    const opened = await dashboard.openSignedIn('/account', {
      context: { timezoneId: 'Asia/Kolkata' },
    });
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const { body } = await owner.call('createRobot', { body: { name: 'arm-1' } });
    const robot = dashboard.robotClient(String(body.api_key));
    const { task } = (await robot.call('createTask', { body: { title: 'Tell the time' } })).body;

    await page.goto(`${dashboard.server.url}/tasks/${task.id}`);

    const { hour, minute } = Object.fromEntries(
      new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'Asia/Kolkata' })
        .formatToParts(new Date(task.created_at))
        .map(({ type, value }) => [type, value]),
    );
    const claim = page.locator('.moments');
    await claim.getByText(new RegExp(`${hour}:${minute}:\\d\\d GMT\\+5:30`)).waitFor();
  });
});

describe('text of robots', () => {
  it('is shown as text everywhere', async () => {
    const evil = '<img src=x onerror="globalThis.ran = true">';
    const opened = await dashboard.openSignedIn('/account');
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    const { body } = await owner.call('createRobot', { body: { name: evil, description: evil } });
    const robot = dashboard.robotClient(String(body.api_key));
    await robot.call('recordSamples', {
      body: { state: evil, battery_pct: 5, metrics: { [evil]: 1, 'javascript:alert(1)': 2 } },
    });
    await robot.call('createEvent', {
      body: { event_type: evil, message: evil, payload: { [evil]: evil } },
    });
    const { task } = (
      await robot.call('createTask', {
        body: { title: evil, description: evil, expected_result: { [evil]: evil } },
      })
    ).body;
    await robot.call('completeTask', {
      params: { id: task.id },
      body: { proof: { [evil]: evil } },
    });
    const { anchor } = (await owner.call('getTask', { params: { id: task.id } })).body;

    for (const address of [
      '/',
      '/robots',
      `/robots/${body.robot.id}`,
      '/tasks',
      `/tasks/${task.id}`,
      '/events',
      `/verify/${anchor?.proof_hash}`,
    ]) {
      await page.goto(dashboard.server.url + address);
      await page.getByText(evil).first().waitFor({ state: 'attached' });
      await page.waitForLoadState('networkidle');
      expect(await page.locator('img[src=x]').count()).toBe(0);
      expect(await page.evaluate('globalThis.ran')).toBeUndefined();
    }
  });
});

describe('on a phone', () => {
  it('the views are behind a labeled button', async () => {
    const { page } = await dashboard.openSignedIn('/account', {
      context: { viewport: { width: 390, height: 844 } },
    });

    await page.getByRole('button', { name: 'Open navigation' }).click();
    await page.getByRole('link', { name: 'Tasks' }).click();

    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.getByRole('button', { name: 'Open navigation' }).waitFor();
  });

  it('Escape closes the views, and returns the focus to their button', async () => {
    const { page } = await dashboard.openSignedIn('/account', {
      context: { viewport: { width: 390, height: 844 } },
    });
    // The view's heading takes the focus when the view is drawn.
    await page.locator('h1:focus').waitFor();
    await page.getByRole('button', { name: 'Open navigation' }).click();

    await page.getByRole('link', { name: 'Tasks' }).focus();
    await page.keyboard.press('Escape');

    // Waits, for the focus moves after the views are closed.
    await page.locator('button:focus[aria-label="Open navigation"]').waitFor();
  });
});
