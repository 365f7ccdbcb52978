import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Dashboard, type DashboardPage, openDashboard } from '../../support/dashboard.ts';
import { holdRequests } from '../../support/page-answers.ts';
import { run } from '../../support/programs.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

async function openWith(address: string, names: string[]) {
  const opened = await dashboard.openSignedIn('/account');
  const owner = await dashboard.clientOf(opened);
  const made = await Promise.all(
    names.map((name) => owner.call('createRobot', { body: { name } })),
  );
  const robots = made.map(({ body }) => ({ ...body.robot, apiKey: body.api_key }));
  const at = address.replace(':id', robots[0]?.id ?? '');
  await opened.page.goto(dashboard.server.url + at);
  return { ...opened, owner, robots };
}

const rowNames = (page: Page) => page.getByRole('rowheader').getByRole('link').allTextContents();

async function keyIn(page: Page): Promise<string> {
  return (await page.getByRole('dialog').locator('pre').first().textContent()) ?? '';
}

async function isTaken(apiKey: string): Promise<boolean> {
  const robot = dashboard.robotClient(apiKey);
  return robot.call('getOwnRobot').then(
    () => true,
    () => false,
  );
}

describe('a new robot', () => {
  let opened: DashboardPage;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-robot-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('gets a key that is shown once, and commands that read it without containing it', async () => {
    opened = await dashboard.openSignedIn('/robots');
    const { page } = opened;

    const owner = await dashboard.clientOf(opened);
    await owner.call('createFleet', { body: { name: 'Hall' } });
    await page.reload();
    await page.getByRole('button', { name: 'Add robot' }).click();
    await page.getByLabel('Name').fill('picker-1');
    await page.getByRole('dialog').getByLabel('Fleet').selectOption('Hall');
    await page.getByRole('dialog').getByRole('button', { name: 'Add robot' }).click();
    await page.getByText('Copy this key now').waitFor();
    const key = await keyIn(page);
    const commands = await page.getByRole('dialog').locator('pre').allTextContents();
    const [, ofAgent = '', ofFile = ''] = commands;
    const files = { agent: path.join(folder, 'agent-key'), own: path.join(folder, 'robot-key') };
    const env = { SVC_AGENT_URL: dashboard.server.url, SVC_AGENT_KEY_FILE: files.agent };
    const args = ofAgent.replace('sudo svc-agent ', '').split(' ');
    const proven = await run('svc-agent', args, { env, input: `${key}\n` });
    const kept = spawn('/bin/sh', ['-c', ofFile], {
      cwd: folder,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    kept.stdin.end(`${key}\n`);
    await once(kept, 'exit');

    expect(key).toMatch(/^svc_[0-9a-f]{40}$/);
    expect(`${ofAgent}${ofFile}`).not.toContain(key);
    expect(proven.stderr).toContain('of picker-1');
    for (const file of [files.agent, files.own]) {
      expect(await readFile(file, 'utf8')).toBe(`${key}\n`);
      expect((await stat(file)).mode & 0o077).toBe(0);
    }
    await page.keyboard.press('Escape');
    expect(await keyIn(page)).toBe(key);
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('alert').getByText('Close without the key?').waitFor();
    await page.getByRole('button', { name: 'Back to the key' }).click();
    await page.getByLabel('I have saved the key').check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'picker-1' }).waitFor();
    await page.getByRole('cell', { name: 'Hall' }).waitFor();
    expect(await page.content()).not.toContain(key);
  });
});

describe('a robot that is being added', () => {
  it('shows its key even if Escape was pressed before the response', async () => {
    const { page } = await dashboard.openSignedIn('/robots');
    const dialog = page.getByRole('dialog');
    const { sent, release } = await holdRequests(page, 'POST', '/api/v1/robots');
    await page.getByRole('button', { name: 'Add robot' }).click();
    await dialog.getByLabel('Name').fill('picker-1');
    await dialog.getByRole('button', { name: 'Add robot' }).click();
    await sent;

    await page.keyboard.press('Escape');
    release();

    await page.getByText('Copy this key now').waitFor();
    expect(await isTaken(await keyIn(page))).toBe(true);
  });
});

describe('a name that another robot has', () => {
  it('needs a confirmation, for a new robot and for a renamed one', async () => {
    const { page, owner, robots } = await openWith('/robots', ['arm', 'leg']);
    const dialog = page.getByRole('dialog');
    const field = dialog.getByRole('textbox', { name: 'Name' });
    await page.getByRole('button', { name: 'Add robot' }).click();
    await field.fill('arm');

    const add = dialog.getByRole('button', { name: 'Add robot' });
    await dialog
      .getByRole('alert')
      .getByText(robots[0]?.id ?? '')
      .waitFor();
    await expect.poll(() => add.isDisabled()).toBe(true);
    await dialog.getByLabel('Use the name again').check();
    await add.click();
    await page.getByText('Copy this key now').waitFor();

    await page.goto(`${dashboard.server.url}/robots/${robots[1]?.id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await field.fill('arm');
    const save = dialog.getByRole('button', { name: 'Save' });
    await expect.poll(() => save.isDisabled()).toBe(true);
    await field.fill('leg');
    await expect.poll(() => save.isEnabled()).toBe(true);
    await field.fill('arm');
    await dialog.getByLabel('Use the name again').check();
    await save.click();
    await dialog.waitFor({ state: 'detached' });

    const { body } = await owner.call('listRobots', { query: {} });
    expect(body.items.map(({ name }) => name)).toEqual(['arm', 'arm', 'arm']);
  });
});

describe('the list of robots', () => {
  it('is searched, filtered and sorted', async () => {
    const { page, owner, robots } = await openWith('/robots', ['arm-2', 'arm-10', 'cart-1']);
    const { body } = await owner.call('createFleet', { body: { name: 'Yard' } });
    await owner.call('assignRobots', {
      body: { robot_ids: [robots[2]?.id ?? ''], fleet_id: body.fleet.id },
    });
    await page.reload();
    await page.getByRole('link', { name: 'cart-1' }).waitFor();

    await expect.poll(() => rowNames(page)).toEqual(['arm-2', 'arm-10', 'cart-1']);
    await page.getByRole('button', { name: 'Name' }).click();
    await expect.poll(() => rowNames(page)).toEqual(['cart-1', 'arm-10', 'arm-2']);
    await page.getByLabel('Search robots').fill('ARM');
    await expect.poll(() => rowNames(page)).toEqual(['arm-10', 'arm-2']);
    await page.getByLabel('Search robots').fill('');
    await page.getByLabel('Fleet', { exact: true }).selectOption('Yard');
    await expect.poll(() => rowNames(page)).toEqual(['cart-1']);
    await page.getByLabel('Search robots').fill('nothing');
    await page.getByText('No robot matches').waitFor();
  });

  it('keeps its filters in its address: through a reload, a visit, and Back', async () => {
    const { page } = await openWith('/robots', ['arm-2', 'arm-10', 'cart-1']);
    await page.getByLabel('Search robots').fill('arm');
    await page.getByRole('button', { name: 'Name' }).click();
    await expect.poll(() => rowNames(page)).toEqual(['arm-10', 'arm-2']);

    await page.reload();
    await expect.poll(() => rowNames(page)).toEqual(['arm-10', 'arm-2']);
    await page.getByRole('link', { name: 'arm-10' }).click();
    await page.getByRole('heading', { name: 'arm-10' }).waitFor();
    await page.goBack();

    await expect.poll(() => rowNames(page)).toEqual(['arm-10', 'arm-2']);
    await expect.poll(() => page.getByLabel('Search robots').inputValue()).toBe('arm');
  });

  it('sorts states by how urgent they are', async () => {
    const order = ['error', 'charging', 'busy', 'docked', 'idle'];
    const { page, robots } = await openWith('/robots?sort=state', order.toReversed());
    for (const { name: state, apiKey } of robots) {
      const samples = [{ recorded_at: new Date().toISOString(), state, metrics: {} }];
      await dashboard.robotClient(String(apiKey)).call('recordSamples', { body: { samples } });
    }
    await page.reload();

    await expect.poll(() => rowNames(page)).toEqual(order);
  });

  it('shows the last error with when it occurred and was received', async () => {
    const { page, robots } = await openWith('/robots', ['arm-1']);
    const twoHoursAgo = new Date(Date.now() - 2 * 3_600_000).toISOString();
    const event = { event_type: 'stop', severity: 'error', message: 'Lost the box' } as const;
    await dashboard
      .robotClient(String(robots[0]?.apiKey))
      .call('createEvent', { body: { ...event, occurred_at: twoHoursAgo } });
    await page.reload();

    const row = page.getByRole('row').filter({ hasText: 'Lost the box' });
    await row.getByText(/occurred 2 h/).waitFor();
    await row.getByText(/received 2 h.* later/).waitFor();
  });

  it('stays where it is when a robot is selected, and keeps the selection in another time zone', async () => {
    const { page } = await openWith('/robots', ['arm-1', 'arm-2']);
    const row = page.getByRole('rowheader').first();
    const before = await row.boundingBox();

    await page.getByLabel('Select arm-1').check();
    await page.getByText('1 selected').waitFor();
    expect((await row.boundingBox())?.y).toBe(before?.y);

    await page.getByRole('button', { name: 'Local time: switch to UTC' }).click();
    await page.getByRole('button', { name: 'UTC: switch to local time' }).waitFor();
    expect(await page.getByLabel('Select arm-1').isChecked()).toBe(true);
  });

  it('renders only the visible robots', async () => {
    const names = Array.from({ length: 250 }, (_, i) => `arm-${String(i).padStart(3, '0')}`);
    const { page } = await openWith('/robots', names);

    await page.getByRole('link', { name: 'arm-000' }).waitFor();
    // The list grows with each page of 200 robots.
    await expect.poll(() => page.getByRole('table').getAttribute('aria-rowcount')).toBe('251');
    expect(await page.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(
      1_500,
    );
    await page.getByLabel('Search robots').fill('arm-24');
    await expect.poll(() => rowNames(page)).toHaveLength(10);
  });
});

describe('a robot', () => {
  it('is renamed and moved, and keeps its key', async () => {
    const { page, owner, robots } = await openWith('/robots/:id', ['arm-1']);
    await owner.call('createFleet', { body: { name: 'Hall' } });
    await page.reload();

    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('arm-one');
    await page.getByRole('dialog').getByLabel('Fleet').selectOption('Hall');
    await page.getByRole('button', { name: 'Save' }).click();

    await page.getByRole('heading', { name: 'arm-one', exact: true }).waitFor();
    await page.getByText('Hall', { exact: false }).first().waitFor();
    expect(await isTaken(robots[0]?.apiKey ?? '')).toBe(true);
  });

  it('is renamed without undoing what a colleague changed meanwhile', async () => {
    const { page, owner, robots } = await openWith('/robots/:id', ['arm-1']);
    const id = robots[0]?.id ?? '';
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('arm-2');
    await owner.call('patchRobot', { params: { id }, body: { description: 'in hall 3' } });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'arm-2' }).waitFor();

    const { robot } = (await owner.call('getRobot', { params: { id } })).body;
    expect(robot).toMatchObject({ name: 'arm-2', description: 'in hall 3' });
  });

  it('gets a new key, and the old one is revoked', async () => {
    const { page, robots } = await openWith('/robots/:id', ['arm-1']);

    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click();
    await page.getByText('Copy this key now').waitFor();

    expect(await isTaken(await keyIn(page))).toBe(true);
    expect(await isTaken(robots[0]?.apiKey ?? '')).toBe(false);
  });

  it('whose key is revoked works again only with a new one', async () => {
    const { page, robots } = await openWith('/robots/:id', ['arm-1']);
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();

    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('no key').waitFor();

    expect(await isTaken(robots[0]?.apiKey ?? '')).toBe(false);
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Copy this key now').waitFor();
    expect(await isTaken(await keyIn(page))).toBe(true);
  });

  it.each([
    ['Escape', (page: Page) => page.keyboard.press('Escape')],
    ['the way back', (page: Page) => page.goBack()],
  ])('shows its key even if %s was pressed before the response', async (_, leave) => {
    const { page } = await openWith('/robots', ['arm-1']);
    await page.getByRole('link', { name: 'arm-1' }).click();
    const { sent, release } = await holdRequests(page, 'POST', '/rotate-key');
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click();
    await sent;

    await leave(page);
    release();

    await page.getByText('Copy this key now').waitFor();
    expect(await isTaken(await keyIn(page))).toBe(true);
  });

  it('shows its key until the user has saved it, or confirms the loss', async () => {
    const { page } = await openWith('/robots/:id', ['arm-1']);
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click();
    await page.getByText('Copy this key now').waitFor();

    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('button', { name: 'Close and lose the key' }).click();

    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('allows selecting its key if the browser forbids copying', async () => {
    const { page } = await openWith('/robots/:id', ['arm-1']);
    await page.evaluate('delete Navigator.prototype.clipboard');
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click();
    await page.getByRole('button', { name: 'Copy key' }).click();

    await page.getByText('Press Ctrl+C').waitFor();
    expect(await page.evaluate('String(getSelection())')).toBe(await keyIn(page));
  });

  it('is deleted only after its name was typed', async () => {
    const { page, robots } = await openWith('/robots/:id', ['arm-1']);

    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    const last = page.getByRole('button', { name: 'Delete permanently' });
    await page.getByLabel('Type arm-1 to confirm').fill('arm-');
    await expect.poll(() => last.isDisabled()).toBe(true);
    await page.getByLabel('Type arm-1 to confirm').fill('arm-1');
    await last.click();

    await page.getByText('No robots yet').waitFor();
    expect(await isTaken(robots[0]?.apiKey ?? '')).toBe(false);
  });

  it('says at its head what it does, its newest error with the payload, and its task', async () => {
    const { page, robots } = await openWith('/robots/:id', ['arm-1']);
    const robot = dashboard.robotClient(robots[0]?.apiKey ?? '');
    await robot.call('recordSamples', { body: { state: 'error', battery_pct: 40 } });
    const message = `Gripper lost the box ${'x'.repeat(300)}`;
    const payload = { torque_nm: 7 };
    const body = { event_type: 'fault', severity: 'error', message, payload } as const;
    await robot.call('createEvent', { body });
    const { task } = (await robot.call('createTask', { body: { title: 'Pick order 4711' } })).body;
    await page.reload();

    const now = page.getByRole('region', { name: 'Now', exact: true });
    await now.getByText(/^error since .* reported/).waitFor();
    await now.getByText('40 %').waitFor();
    await now.getByText(message).waitFor();
    await now.getByText('Payload').click();
    await now.getByText('"torque_nm": 7').waitFor();
    await now.getByRole('link', { name: 'Pick order 4711' }).click();
    await page.waitForURL(`**/tasks/${task.id}`);
  });

  it('shows where its telemetry has a gap', async () => {
    const { page, robots } = await openWith('/robots/:id', ['arm-1']);
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const samples = [40, 39, 10, 9].map((minutes) => ({
      recorded_at: minutesAgo(minutes),
      battery_pct: minutes,
      state: 'busy',
      metrics: { load_kg: minutes },
    }));
    await dashboard
      .robotClient(robots[0]?.apiKey ?? '')
      .call('recordSamples', { body: { samples } });
    await page.reload();

    const states = page.getByRole('list', { name: 'States over time' }).getByRole('listitem');
    const told = async () =>
      (await states.allTextContents()).map((text) => text.replace(/ from .*/, ''));
    await expect
      .poll(told)
      .toEqual(['no telemetry', 'busy', 'no telemetry', 'busy', 'no telemetry']);
    await page.getByRole('img', { name: /^Battery: 9 to 40 %/ }).waitFor();
    await page.getByLabel('load_kg', { exact: true }).uncheck();
    await page.getByRole('img', { name: /^load_kg/ }).waitFor({ state: 'detached' });
  });
});
