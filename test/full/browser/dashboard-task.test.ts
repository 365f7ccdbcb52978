import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { attachFiles } from '../../../src/client/files.ts';
import type { JsonObject } from '../../../src/proof/json-value.ts';
import { kidOf } from '../../../src/proof/statements/key-text.ts';
import { type Dashboard, newAccount, openDashboard } from '../../support/dashboard.ts';
import { photo } from '../../support/recording.ts';
import { grantOf, newSigner, SigningRobot } from '../../support/signing-robot.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let dashboard: Dashboard;
const account = newAccount();
let owner: Client;
let page: Page;

beforeAll(async () => {
  dashboard = await openDashboard();
  const context = { timezoneId: 'UTC' };
  const opened = await dashboard.openSignedIn('/account', { account, context });
  owner = await dashboard.clientOf(opened);
  ({ page } = opened);
});
afterAll(() => dashboard?.stop());

const isoAgo = (ms: number) => new Date(Date.now() - ms).toISOString();

async function newRobot() {
  const { body } = await owner.call('createRobot', { body: { name: `rover-${randomUUID()}` } });
  return { id: body.robot.id, client: dashboard.robotClient(String(body.api_key)) };
}

/** A sample at each of these times before now. */
async function report(robot: Client, agos: number[]) {
  const samples = agos.map((ago) => ({
    recorded_at: isoAgo(ago),
    battery_pct: 80,
    state: 'busy',
    metrics: { x_m: ago / MINUTE_MS, y_m: Math.sin(ago), motor_c: 40 },
  }));
  await robot.call('recordSamples', { body: { samples } });
}

interface Work {
  /** Age of the claim by the robot's clock, in ms. */
  claimedAgo?: number;
  /** Null for a task that is running. */
  evidence?: JsonObject | null;
  expected?: JsonObject;
  /** Ages of samples, in ms. */
  samples?: number[];
}

/** The page of a task, once its timeline is there. */
async function openTask({ claimedAgo, evidence = {}, expected, samples = [] }: Work, search = '') {
  const robot = await newRobot();
  if (samples.length > 0) await report(robot.client, samples);
  const claim = await robot.client.call('createTask', {
    body: {
      title: 'Pick order 4711',
      ...(expected && { expected_result: expected }),
      ...(claimedAgo !== undefined && { occurred_at: isoAgo(claimedAgo) }),
    },
  });
  const { id } = claim.body.task;
  if (evidence !== null) {
    const proof = { ...evidence, of: id };
    await robot.client.call('completeTask', {
      params: { id },
      body: { proof, outcome: 'succeeded' },
    });
  }
  await page.goto(`${dashboard.server.url}/tasks/${id}${search}`);
  await timeline().getByText('Claim and completion').waitFor();
  return { id, robot };
}

const timeline = () => page.getByRole('region', { name: 'Timeline' });
const status = () => page.getByRole('region', { name: 'Status' });
const battery = () => page.getByRole('img', { name: /^Battery/ });

/** The place of the state bar, in view. */
async function stateBar() {
  await page.locator('.timeline').scrollIntoViewIfNeeded();
  const box = await page.locator('.timeline').boundingBox();
  if (box === null) throw new Error('There is no state bar');
  return box;
}

/** Length of the axis in ms. */
const axisMs = async () => {
  const axis = page.getByRole('slider', { name: 'Time' });
  const [from, to] = await Promise.all(
    ['aria-valuemin', 'aria-valuemax'].map(async (name) => Number(await axis.getAttribute(name))),
  );
  return (to ?? 0) - (from ?? 0);
};

/** Changes what the service answers about a task. */
async function changeTask(id: string, change: (answer: { task: object }) => object) {
  await page.route(`**/api/v1/tasks/${id}`, async (route) => {
    const { 'if-none-match': _, ...headers } = route.request().headers();
    const response = await route.fetch({ headers });
    const answer = await response.json();
    await route.fulfill({ response, json: { ...answer, ...change(answer) } });
  });
  await page.reload();
}

describe('the timeline of a task', () => {
  const cases: [string, Work, [number, number], () => Promise<unknown>][] = [
    [
      'of half a second',
      { claimedAgo: 500, samples: [0, 10, 20].map((s) => s * SECOND_MS) },
      [20 * SECOND_MS, MINUTE_MS],
      async () => {
        await battery().waitFor();
        await page.getByText('Each point is a sample').waitFor();
      },
    ],
    [
      'that is running',
      { claimedAgo: 2 * MINUTE_MS, evidence: null, samples: [MINUTE_MS, 2 * MINUTE_MS] },
      [2 * MINUTE_MS, 4 * MINUTE_MS],
      async () => {
        await timeline().getByText('Not yet').waitFor();
        await battery().waitFor();
      },
    ],
    [
      'that was delivered a day late',
      { claimedAgo: DAY_MS, samples: [DAY_MS - MINUTE_MS, DAY_MS - 2 * MINUTE_MS] },
      [DAY_MS, 1.2 * DAY_MS],
      async () => {
        await timeline().getByText('Received 1 day later').waitFor();
        await timeline().locator('.clocks [data-late]').waitFor();
        await battery().waitFor();
      },
    ],
    [
      'of a robot whose clock is ahead',
      { claimedAgo: -2 * HOUR_MS - MINUTE_MS },
      [2 * HOUR_MS, 2.5 * HOUR_MS],
      () => timeline().getByText('The robot clock was 2 hr. ahead').waitFor(),
    ],
    [
      'of a robot whose clock is years behind',
      { claimedAgo: 3 * 365 * DAY_MS },
      [10 * SECOND_MS, HOUR_MS],
      () => timeline().getByText('Received 3 yr').waitFor(),
    ],
    [
      'without telemetry',
      {},
      [10 * SECOND_MS, HOUR_MS],
      async () => {
        await timeline().getByText('the service no longer keeps it').waitFor();
        expect(await battery().count()).toBe(0);
      },
    ],
  ];
  it.each(cases)('%s', async (_, work, [least, most], shows) => {
    await openTask(work);

    await shows();
    expect(await axisMs()).toBeGreaterThanOrEqual(least);
    expect(await axisMs()).toBeLessThanOrEqual(most);
  });

  it('spans three days', async () => {
    const agos = Array.from({ length: 48 }, (_, i) => i * 1.5 * HOUR_MS);
    const { id } = await openTask({ samples: agos });

    await changeTask(id, ({ task }) => ({ task: { ...task, created_at: isoAgo(3 * DAY_MS) } }));

    await page.getByText('the average per hour').waitFor();
    expect((await axisMs()) / DAY_MS).toBeCloseTo(3.2, 0);
    expect(await timeline().getByText('later, or').count()).toBe(0);
    await page.unrouteAll();
  });

  it('stands without the telemetry that was deleted', async () => {
    const { robot } = await openTask({ claimedAgo: HOUR_MS, samples: [MINUTE_MS] });
    await battery().waitFor();
    await page.route(`**/robots/${robot.id}/telemetry?*`, (route) => {
      const { searchParams } = new URL(route.request().url());
      const [from, to] = [searchParams.get('from'), searchParams.get('to')];
      return route.fulfill({ json: { resolution: 'minute', from, to, points: [] } });
    });
    await page.reload();

    await timeline().getByText('the service no longer keeps it').waitFor();
    await timeline().getByText('robot clock', { exact: true }).waitFor();
    await page.unrouteAll();
  });

  it('shows the path of x_m and y_m, and the events of the robot', async () => {
    const robot = await newRobot();
    await report(
      robot.client,
      [1, 2, 3, 4].map((m) => m * MINUTE_MS),
    );
    const body = { title: 'Sweep', occurred_at: isoAgo(5 * MINUTE_MS) };
    const { task } = (await robot.client.call('createTask', { body })).body;
    await robot.client.call('createEvent', {
      body: { event_type: 'e', message: 'Lost the box', occurred_at: isoAgo(2 * MINUTE_MS) },
    });

    await page.goto(`${dashboard.server.url}/tasks/${task.id}`);

    await page.getByRole('img', { name: /^Path: x_m/ }).waitFor();
    await page.getByRole('img', { name: /^motor_c/ }).waitFor();
    await page
      .getByRole('list', { name: 'Events of this period' })
      .getByText('Lost the box')
      .waitFor();
    await timeline()
      .getByTitle(/Lost the box/)
      .waitFor();
  });

  it('has one cursor for all charts', async () => {
    await openTask({ claimedAgo: 4 * MINUTE_MS, samples: [1, 2, 3].map((m) => m * MINUTE_MS) });
    const bar = await stateBar();

    await page.mouse.move(bar.x + bar.width / 2, bar.y + 5);

    await page.getByText(/: busy · Battery 80 % · motor_c 40/).waitFor();
    const [cursor, area] = [page.locator('.axis-cursor'), page.locator('.axis-area')];
    const [line, whole] = [await cursor.boundingBox(), await area.boundingBox()];
    expect(line?.height).toBeGreaterThan(300);
    expect(whole?.x).toBeCloseTo(bar.x, 0);
  });

  it('keeps its zoom in the address, and returns to the whole task', async () => {
    await openTask({ claimedAgo: 4 * MINUTE_MS, samples: [MINUTE_MS] });
    const bar = await stateBar();
    const whole = await axisMs();

    await page.mouse.move(bar.x + bar.width / 2, bar.y + 5);
    await page.mouse.down();
    await page.mouse.move(bar.x + (3 * bar.width) / 4, bar.y + 5, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=/);
    await page.reload();
    await timeline().getByText('Claim and completion').waitFor();
    expect((await axisMs()) / whole).toBeCloseTo(1 / 4, 1);

    await page.getByRole('button', { name: 'Show the whole task' }).click();
    await expect.poll(axisMs).toBe(whole);
  });
});

describe('a task', () => {
  it('says what was asked, what was done, and what differs, before its hashes', async () => {
    await openTask({ expected: { boxes: 12, dock: 9 }, evidence: { boxes: 11, seconds: 3 } });

    await status().getByText('succeeded').waitFor();
    await status().getByText('1 differs, 1 missing, 2 additional').waitFor();
    await status().getByText('Not signed by the robot').waitFor();
    await status()
      .getByText(/0\.0000\d+ ETH/)
      .waitFor();
    await status()
      .getByText(/Anchored .* after acceptance, promised by/)
      .waitFor();
    const row = page.getByRole('row', { name: /\/boxes/ });
    expect(await row.textContent()).toBe('/boxes1211differs');
    expect(await page.getByText('Proof hash', { exact: true }).isVisible()).toBe(false);
    await page.getByText('Hashes, root and path').click();
    await page.getByText('Proof hash', { exact: true }).waitFor();
  });

  it('shows no comparison once the evidence is erased', async () => {
    const { id } = await openTask({ expected: { boxes: 12 }, evidence: { boxes: 12 } });
    await page.getByRole('row', { name: /\/boxes/ }).waitFor();

    await owner.call('eraseProof', { params: { id } });
    await page.reload();

    await page.getByText('The evidence of this task was erased').waitFor();
    await status().getByText('Not signed by the robot').waitFor();
    expect(await page.getByRole('row', { name: /\/boxes/ }).count()).toBe(0);
  });

  it('shows who signed it, and the times that the robot signed', async () => {
    const robot = await newRobot();
    const signer = newSigner();
    await robot.client.call('proposeKey', { body: { public_key: signer.publicKey } });
    const params = { id: robot.id };
    const { identity } = (await owner.call('getIdentity', { params })).body;
    const text = grantOf(identity as Parameters<typeof grantOf>[0], signer);
    const signature = await account.signMessage({ message: text });
    await owner.call('signKeyText', { params, body: { text, signature } });
    const signing = new SigningRobot(robot.id, kidOf(text), signer);
    const task = { id: randomUUID(), title: 'Weigh' };
    const proof = { grams: 3, of: task.id };
    const time = isoAgo(HOUR_MS);
    const claim = { ...task, statement: signing.claim(task, { time }) };
    await robot.client.call('createTask', { body: claim });
    const statement = signing.result(task, proof, { time });
    const completion = { proof, statement, outcome: 'succeeded' as const };
    await robot.client.call('completeTask', { params: task, body: completion });

    await page.goto(`${dashboard.server.url}/tasks/${task.id}`);

    await status().getByText('Signed by the robot').waitFor();
    const card = page.getByRole('region', { name: 'Signature of the robot' });
    await card.getByText(/^Signed by key/).waitFor();
    await card.getByText('The key signed the result').waitFor();
    expect(await timeline().getByText('robot clock', { exact: true }).count()).toBe(2);
  });

  it('compares files of this computer with its evidence, and shows pictures', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-task-'));
    const file = path.join(folder, 'photo.jpg');
    await writeFile(file, photo);
    await openTask({ evidence: await attachFiles({ shelf: 3 }, [file]) });
    const files = page.getByRole('region', { name: 'Files that the evidence lists' });
    await files.getByText('photo.jpg was not given').waitFor();

    await files.locator('input[type=file]').setInputFiles(file);

    await files.getByText('photo.jpg matches').waitFor();
    const image = files.getByRole('img', { name: 'photo.jpg' });
    await expect
      .poll(() => image.evaluate((shown) => Reflect.get(shown, 'naturalWidth')))
      .toBeGreaterThan(0);
    await rm(folder, { recursive: true, force: true });
  });

  it('fits on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await openTask({
      claimedAgo: DAY_MS,
      samples: [DAY_MS - MINUTE_MS],
      expected: { 'a long name of a member that does not fit on a phone': 'x'.repeat(80) },
    });

    await battery().waitFor();
    const isTooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    await expect.poll(() => page.evaluate(isTooWide)).toBe(false);
  });
});
