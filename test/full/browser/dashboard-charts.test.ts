import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { NewSample } from '../../../src/protocol/telemetry.ts';
import { type Dashboard, openDashboard } from '../../support/dashboard.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

const MINUTE_MS = 60_000;

/** One sample at each of these minutes before now. */
const samplesAt = (minutes: number[], stateAt = (_ago: number) => 'busy'): NewSample[] =>
  minutes.map((ago) => ({
    recorded_at: new Date(Date.now() - ago * MINUTE_MS).toISOString(),
    battery_pct: 50,
    state: stateAt(ago),
    metrics: { pose_x: Math.sin(ago / 9), pose_y: Math.cos(ago / 9), motor_c: 40 },
  }));

/** The page of a robot with these samples. Texts that are drawn are in `drawn` of the page. */
async function openRobot(
  minutes: number[],
  search = '',
  stateAt?: (ago: number) => string,
  hasTouch = false,
) {
  const opened = await dashboard.openSignedIn('/account', {
    context: { timezoneId: 'Asia/Tokyo', hasTouch },
  });
  const { page, context } = opened;
  await context.addInitScript(`{
    const { fillText } = CanvasRenderingContext2D.prototype;
    globalThis.drawn = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
      globalThis.drawn.push(text);
      return fillText.call(this, text, ...more);
    };
  }`);
  const owner = await dashboard.clientOf(opened);
  const { body } = await owner.call('createRobot', { body: { name: 'rover' } });
  const robot = dashboard.robotClient(String(body.api_key));
  const samples = samplesAt(minutes, stateAt);
  for (let first = 0; first < samples.length; first += 50) {
    const part = samples.slice(first, first + 50);
    await robot.call('recordSamples', { body: { samples: part } });
  }
  await page.goto(`${dashboard.server.url}/robots/${body.robot.id}${search}`);
  await page.locator('[aria-label^=Battery] canvas').waitFor();
  return { page, robot };
}

const everyOther = Array.from({ length: 180 }, (_, i) => 2 * i + 1);
const states = async (page: Page) => {
  const texts = await page.getByRole('list', { name: 'States over time' }).locator('li');
  return (await texts.allTextContents()).map((text) => text.replace(/ from .*/, ''));
};

/** Share of the battery chart's columns in which something of the line's color is drawn. */
const drawnColumns = (page: Page) =>
  page.evaluate<number>(`(() => {
    const canvas = document.querySelector('[aria-label^=Battery] canvas');
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    let columns = 0;
    for (let x = 0; x < width; x++) {
      for (let y = 0; y < height; y++) {
        const at = 4 * (y * width + x);
        // --busy-bar of the light scheme.
        if (data[at] === 59 && data[at + 1] === 119 && data[at + 2] === 130) { columns++; break; }
      }
    }
    return columns / width;
  })()`);

/** Where it is in the window, which is scrolled to it. */
const boxOf = async (page: Page, selector: string) => {
  const found = page.locator(selector).first();
  await found.scrollIntoViewIfNeeded();
  const box = await found.boundingBox();
  if (box === null) throw new Error(`There is no ${selector}`);
  return box;
};

describe('the charts of a robot that reports every two minutes', () => {
  it('show a line and no gap over six hours', async () => {
    const { page } = await openRobot(everyOther, '?range=6+h');

    await expect.poll(() => states(page)).toEqual(['busy']);
    await expect.poll(() => drawnColumns(page)).toBeGreaterThan(0.85);
  });

  it('show a single reading as a point', async () => {
    const { page } = await openRobot([5, 6, 7, 8, 180, 300, 301, 302, 303], '?range=6+h');
    const withLone = await drawnColumns(page);
    const { page: without } = await openRobot([5, 6, 7, 8, 300, 301, 302, 303], '?range=6+h');

    expect(withLone).toBeGreaterThan(await drawnColumns(without));
    const inSilence = async () =>
      (await states(page)).filter((state) => state === 'no telemetry').length;
    await expect.poll(inSilence).toBe(4);
  });
});

describe('the axis of seven days', () => {
  it('has the date at the start of a day', async () => {
    const { page } = await openRobot([1, 600, 1200, 1800, 2400], '?range=7+d');

    const drawn = await page.evaluate<string[]>('globalThis.drawn');
    const day = new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'short',
      timeZone: 'Asia/Tokyo',
    });
    for (const ago of [1, 2, 3, 4, 5]) {
      expect(drawn).toContain(day.format(Date.now() - ago * 24 * 60 * MINUTE_MS));
    }
  });
});

describe('the state bar', () => {
  it('is aligned with the charts', async () => {
    const { page } = await openRobot(everyOther);

    const differences = async () => {
      const [bar, chart] = [await boxOf(page, '.timeline'), await boxOf(page, '.u-over')];
      return Math.max(Math.abs(bar.x - chart.x), Math.abs(bar.width - chart.width));
    };
    await expect.poll(differences).toBeLessThanOrEqual(1);
  });

  it('shows the share of each state in an hour that has several, errors on top', async () => {
    const { page } = await openRobot(everyOther, '?range=7+d', (ago) =>
      ago % 20 === 1 ? 'error' : 'busy',
    );

    const figure = page.locator('figure', { has: page.locator('.timeline') });
    await figure.locator('.legend').getByText('error 10 %').waitFor();
    await figure.locator('.legend').getByText('busy 90 %').waitFor();
    expect(await states(page)).toContain('error 10 %, busy 90 %');
    const error = figure.locator('.timeline [data-state=error]').nth(1);
    const [box, bar] = [await error.boundingBox(), await boxOf(page, '.timeline')];
    expect(box?.y).toBeCloseTo(bar.y, 0);
    expect(box?.height).toBeGreaterThanOrEqual(2);
    expect((box?.height ?? 0) / bar.height).toBeCloseTo(0.1, 1);
  });

  it('shows errors of less than a pixel two pixels high', async () => {
    const minutes = Array.from({ length: 240 }, (_, i) => i + 1);
    const { page } = await openRobot(minutes, '?range=30+d', (ago) =>
      ago === 100 ? 'error' : 'busy',
    );

    const errors = page.locator('.timeline [data-state=error]');
    await expect.poll(async () => (await errors.first().boundingBox())?.height).toBe(2);
    await page.getByText('error < 1 %').waitFor();
  });
});

describe('the times of a robot', () => {
  it('are all local, or all in UTC if chosen', async () => {
    const { page } = await openRobot(everyOther);
    const state = page
      .getByRole('list', { name: 'States over time' })
      .getByRole('listitem')
      .first();
    await expect.poll(() => state.textContent()).toContain('GMT+9');

    await page.getByRole('button', { name: 'switch to UTC' }).click();
    await page.getByRole('button', { name: 'switch to local time' }).waitFor();

    await expect.poll(() => state.textContent()).toMatch(/UTC$/);
    const hour = new Date(Date.now() - 30 * MINUTE_MS).toISOString().slice(11, 13);
    const isDrawn = `globalThis.drawn.some((text) => text.startsWith('${hour}:'))`;
    await expect.poll(() => page.evaluate(isDrawn)).toBe(true);
  });
});

describe('the period', () => {
  it('is zoomed by dragging while new data arrives, moved, and restored by Back', async () => {
    const { page, robot } = await openRobot(everyOther, '?range=6+h');
    const { x, y, width } = await boxOf(page, '.u-over');
    await page.mouse.move(x + width / 4, y + 40);
    await page.mouse.down();
    await page.mouse.move(x + width / 3, y + 40, { steps: 4 });
    await robot.call('createEvent', { body: { event_type: 'error', message: 'Lost the box' } });
    await page.getByTitle(/Lost the box/).waitFor();
    await page.mouse.move(x + width / 2, y + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=/);
    const spanIn = () => {
      const { searchParams } = new URL(page.url());
      const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''));
      return { from: from ?? 0, to: to ?? 0, minutes: ((to ?? 0) - (from ?? 0)) / MINUTE_MS };
    };
    const zoomed = spanIn();
    expect(zoomed.minutes).toBeGreaterThan(80);
    expect(zoomed.minutes).toBeLessThan(100);

    await page.getByRole('button', { name: 'Previous period' }).click();
    await expect.poll(() => spanIn().to).toBe(zoomed.from);
    await page.goBack();
    await expect.poll(() => spanIn().to).toBe(zoomed.to);
    await page.goBack();
    await expect.poll(() => page.url()).toContain('range=6+h');
    await expect.poll(() => page.getByRole('radio', { name: '6 h' }).isChecked()).toBe(true);
  });

  it('does not change after a click with a small pointer movement', async () => {
    const { page } = await openRobot(everyOther);
    const { x, y } = await boxOf(page, '.u-over');
    await page.mouse.move(x + 100, y + 40);
    await page.mouse.down();
    await page.mouse.move(x + 104, y + 40, { steps: 2 });
    await expect.poll(async () => (await boxOf(page, '.axis-selection')).width).toBe(4);
    await page.mouse.up();

    await page.locator('.axis-selection').waitFor({ state: 'detached' });
    expect(page.url()).not.toContain('from=');
  });

  it('is read and zoomed by the keyboard', async () => {
    const { page } = await openRobot(everyOther);
    const readout = page.getByRole('slider', { name: 'Time' });
    await readout.press('End');
    await expect.poll(() => readout.getAttribute('aria-valuetext')).toContain('Battery 50 %');
    const newest = Number(await readout.getAttribute('aria-valuenow'));
    await readout.press('ArrowLeft');
    await expect
      .poll(async () => newest - Number(await readout.getAttribute('aria-valuenow')))
      .toBe(2 * MINUTE_MS);

    await readout.press('+');

    await page.waitForURL(/from=/);
  });

  it('can be set freely', async () => {
    const { page } = await openRobot(everyOther);
    await page.getByText('Custom', { exact: true }).click();

    await page.getByLabel('From', { exact: true }).fill('2026-01-02T03:00');
    await page.getByLabel('To', { exact: true }).fill('2026-01-02T05:00');
    await page.getByRole('button', { name: 'Show', exact: true }).click();

    await page.getByText('No telemetry in this period').waitFor();
    // Tokyo is 9 hours ahead.
    expect(new URL(page.url()).searchParams.get('from')).toBe('2026-01-01T18:00:00.000Z');
  });
});

describe('a robot', () => {
  it('shows all values of a moment in one readout, with its tasks and events as marks', async () => {
    const { page, robot } = await openRobot(everyOther);
    await robot.call('createEvent', {
      body: {
        event_type: 'error',
        severity: 'error',
        message: 'Lost the box',
        occurred_at: new Date(Date.now() - 30 * MINUTE_MS).toISOString(),
      },
    });
    await robot.call('createTask', { body: { title: 'Sweep aisle 9' } });
    await page.reload();
    await page.getByTitle(/^error: Lost the box \(occurred, received 30 min\. later\), /).waitFor();
    await page.getByTitle(/^Task: Sweep aisle 9/).waitFor();
    const chart = await boxOf(page, '.u-over');
    const place = async () => {
      const mark = await boxOf(page, '[title^=error]');
      return (mark.x + mark.width / 2 - chart.x) / chart.width;
    };
    await expect.poll(place).toBeCloseTo(0.5, 1);

    await page.mouse.move(chart.x + chart.width / 2, chart.y + 40);

    await page.getByText(/: busy · Battery 50 % · motor_c 40 · pose_x/).waitFor();
  });

  it('shows the values of a moment that is tapped', async () => {
    const { page } = await openRobot(everyOther, '', undefined, true);
    const chart = await boxOf(page, '.u-over');

    await page.touchscreen.tap(chart.x + chart.width / 2, chart.y + 40);

    await page.getByText(/: busy · Battery 50 % · motor_c 40 · pose_x/).waitFor();
  });

  it('keeps its marks when another minute begins', async () => {
    const { page, robot } = await openRobot(everyOther);
    await robot.call('createEvent', { body: { event_type: 'error', message: 'Lost the box' } });
    await page.getByTitle(/Lost the box/).waitFor();
    await page.route('**/api/v1/events?*', () => {});
    const readAgain = page.waitForResponse('**/telemetry?*');

    await page.clock.fastForward(MINUTE_MS);
    await readAgain;

    expect(await page.getByTitle(/Lost the box/).count()).toBe(1);
  });

  it('shows an event in the period in which it occurred, although it arrived later', async () => {
    const { page, robot } = await openRobot(everyOther);
    const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS).toISOString();
    await robot.call('createEvent', {
      body: { event_type: 'error', message: 'Lost the box', occurred_at: ago(90) },
    });

    await page.goto(`${page.url().replace(/\?.*/, '')}?from=${ago(120)}&to=${ago(60)}`);

    await page.getByTitle(/Lost the box/).waitFor();
  });

  it('remembers which metrics are shown, and has them in its address', async () => {
    const { page } = await openRobot(everyOther);
    await page.getByLabel('pose_y', { exact: true }).check();
    await page.getByLabel('motor_c', { exact: true }).uncheck();
    await page.getByRole('img', { name: /^pose_y/ }).waitFor();
    expect(new URL(page.url()).searchParams.getAll('metric')).toEqual(['pose_x', 'pose_y']);

    await page.goto(page.url().replace(/\?.*/, ''));

    await page.getByRole('img', { name: /^pose_y/ }).waitFor();
    expect(await page.getByRole('img', { name: /^motor_c/ }).count()).toBe(0);
  });

  it('offers the first 100 metrics and the chosen ones, and counts the others', async () => {
    const { page, robot } = await openRobot([1]);
    const names = Array.from({ length: 150 }, (_, i) => `a_${100 + i}`);
    const metrics = Object.fromEntries(names.map((name) => [name, 1]));
    await robot.call('recordSamples', {
      body: { samples: [{ recorded_at: new Date().toISOString(), metrics }] },
    });

    const [from, to] = [5, -1].map((ago) => new Date(Date.now() - ago * MINUTE_MS).toISOString());
    await page.goto(`${page.url()}?from=${from}&to=${to}&metric=a_240`);

    await page.getByText('52 more metrics').waitFor();
    const boxes = page.getByRole('group', { name: 'Metrics' }).getByRole('checkbox');
    expect(await boxes.count()).toBe(101);
    expect(await page.getByLabel('a_240', { exact: true }).isChecked()).toBe(true);
  });

  it('shows a path of two metrics', async () => {
    const { page } = await openRobot(everyOther);
    await page.getByLabel('Path: x').selectOption('pose_x');
    await page.getByLabel('Path: y').selectOption('pose_y');

    await page.getByRole('img', { name: /^Path: pose_x from -.* to .*, pose_y from -/ }).waitFor();
    await expect.poll(() => page.locator('.path-plot polyline').count()).toBeGreaterThan(10);
    expect(page.url()).toMatch(/x=pose_x&y=pose_y/);
  });

  it('shows its samples as a table', async () => {
    const { page } = await openRobot(everyOther);
    const saved = page.waitForEvent('download');

    await page.getByRole('button', { name: 'Download CSV' }).click();

    const lines = (await readFile(await (await saved).path(), 'utf8')).trim().split('\r\n');
    expect(lines[0]).toBe('id,recorded_at,battery_pct,state,metrics');
    expect(lines).toHaveLength(31);
  });
});
