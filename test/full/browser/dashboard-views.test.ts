import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Dashboard, type DashboardPage, openDashboard } from '../../support/dashboard.ts';
import { arrangeScene, type Scene } from '../../support/dashboard-scene.ts';

const { resolve } = createRequire(import.meta.url);

let dashboard: Dashboard;
let scene: Scene;
let owner: DashboardPage;
let guest: DashboardPage;
let axe: string;
/** Every style of the component library, of which the dashboard has those in use. */
let allStyles: string;

beforeAll(async () => {
  dashboard = await openDashboard();
  owner = await dashboard.openSignedIn('/account');
  guest = await dashboard.open('/verify');
  scene = await arrangeScene(dashboard, await dashboard.clientOf(owner));
  axe = await readFile(resolve('axe-core/axe.min.js'), 'utf8');
  allStyles = await readFile(resolve('@mantine/core/styles.css'), 'utf8');
});
afterAll(() => dashboard?.stop());

interface View {
  address: () => string;
  /** What is there once it has loaded. */
  shows: string;
  /** Opens the dialog that is meant. */
  open?: (page: Page) => Promise<unknown>;
}

const click = (name: string) => (page: Page) =>
  page.getByRole('button', { name, exact: true }).click();
const clickIn = (name: string) => (page: Page) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true }).click();

const fromMenu = (name: string) => async (page: Page) => {
  await page.getByText('More', { exact: true }).click();
  await click(name)(page);
};

const robot = { address: () => `/robots/${scene.robots[0]?.id}`, shows: 'motor_c' };
const other = { address: () => `/robots/${scene.robots[1]?.id}`, shows: 'Gripper lost the box' };
const task = { address: () => `/tasks/${scene.verified.id}`, shows: 'the evidence matches' };
const fleets = { address: () => '/fleets', shows: 'Hall North' };
const webhooks = { address: () => '/webhooks', shows: 'ops.test' };
const unknown = `0x${'ab'.repeat(32)}`;

const views: Record<string, View> = {
  'the overview': { address: () => '/', shows: 'Robots online' },
  'the robots': { address: () => '/robots', shows: 'hauler-7' },
  'selected robots': {
    address: () => '/robots',
    shows: 'hauler-7',
    open: (page) => page.getByLabel('Select hauler-7').check(),
  },
  'adding a robot': { address: () => '/robots', shows: 'hauler-7', open: click('Add robot') },
  'a robot': robot,
  'editing a robot': { ...robot, open: click('Edit') },
  'rotating a key': { ...robot, open: fromMenu('Rotate key') },
  'a new key, and leaving without it': {
    ...other,
    async open(page) {
      await fromMenu('Rotate key')(page);
      await clickIn('Rotate key')(page);
      await page.getByText('Copy this key now').waitFor();
      await clickIn('Close')(page);
    },
  },
  'revoking a key': { ...robot, open: fromMenu('Revoke key') },
  'deleting a robot': { ...robot, open: fromMenu('Delete') },
  'a path': {
    address: () => `${robot.address()}?x=motor_c&y=load_kg`,
    shows: 'Path: x',
    open: (page) => page.locator('.path-plot').waitFor(),
  },
  'the fleets': fleets,
  'adding a fleet': { ...fleets, open: click('Add fleet') },
  'editing a fleet': { ...fleets, open: click('Edit Hall North') },
  'deleting a fleet': { ...fleets, open: click('Delete Hall North') },
  'the tasks': { address: () => '/tasks', shows: 'Pick order 4711' },
  'a task': task,
  'erasing evidence': { ...task, open: click('Erase evidence') },
  'a task without a proof': {
    address: () => `/tasks/${scene.claimed.id}`,
    shows: 'has not submitted a proof',
  },
  'the events': { address: () => '/events', shows: 'Gripper lost the box' },
  'no event': { address: () => '/events?severity=warn', shows: 'No events' },
  'the account': { address: () => '/account', shows: 'Granted' },
  'deleting the account': {
    address: () => '/account',
    shows: 'Granted',
    open: click('Delete account'),
  },
  'the alerts': { address: () => '/alerts', shows: 'Battery low' },
  'the webhooks': webhooks,
  'creating a webhook': { ...webhooks, open: click('Create webhook') },
  'editing a webhook': { ...webhooks, open: click('Edit: ops.test') },
  'rotating the secret of a webhook': { ...webhooks, open: click('Rotate secret: ops.test') },
  'deleting a webhook': { ...webhooks, open: click('Delete: ops.test') },
  'robots to be moved': {
    address: () => '/robots',
    shows: 'hauler-7',
    async open(page) {
      await page.getByLabel('Select hauler-7').check();
      await page.getByLabel('Move to').selectOption('Yard');
      await click('Preview move')(page);
    },
  },
  access: { address: () => '/access', shows: 'Audit log' },
  'creating a token': {
    address: () => '/access',
    shows: 'Audit log',
    open: click('Create token'),
  },
  'a page that is not there': { address: () => '/tasks/none', shows: 'Not found, or deleted' },
  'handing a session to the command line': {
    address: () => '/cli-login',
    shows: 'Code that the terminal shows',
  },
};

const publicViews: Record<string, View> = {
  'signing in': { address: () => '/sign-in', shows: 'Test wallet' },
  'signing in for the command line': {
    address: () => '/cli-login',
    shows: 'Test wallet',
  },
  verifying: { address: () => '/verify', shows: 'By a hash, an id or an address' },
  'a verified proof': {
    address: () => `/verify/${scene.verified.proofHash}`,
    shows: 'Checks, made in this browser',
  },
  'a printed proof': {
    address: () => `/verify/${scene.verified.proofHash}`,
    shows: 'Checks, made in this browser',
    async open(page) {
      await page.getByRole('button', { name: 'Show the certificate' }).click();
      await page.locator('.certificate-sheet').waitFor();
      await page.emulateMedia({ media: 'print' });
    },
  },
  'a first visit': { address: () => '/', shows: 'Verified in this browser' },
  'an unknown path': { address: () => '/nowhere', shows: 'This page does not exist' },
  'an unknown proof': { address: () => `/verify/${unknown}`, shows: 'No proof with this hash' },
  'what is no hash': { address: () => '/verify/0x12', shows: 'Not a proof hash' },
  'a transaction': { address: () => `/tx/${scene.verified.txHash}`, shows: 'Anchored content' },
  'an unknown transaction': { address: () => `/tx/${unknown}`, shows: 'Not a transaction' },
};

/** Violations, as axe finds them. */
async function violationsIn(page: Page): Promise<string[]> {
  const results: AxeResults = await page.evaluate(
    `axe.run({ rules: { 'target-size': { enabled: true } } })`,
  );
  return results.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => html + failureSummary).join('\n')}`,
  );
}

/** Classes of the component library that are in use, that it has styles for, and that the page has none of. */
async function unstyledIn(page: Page): Promise<string[]> {
  const used: string[] = await page.evaluate(
    `[...document.querySelectorAll('[class*="m_"]')].flatMap(({ classList }) => [...classList])`,
  );
  const styles: string = await page.evaluate(
    `[...document.styleSheets].flatMap(({ cssRules }) => [...cssRules]).map(({ cssText }) => cssText).join()`,
  );
  const styled = [...new Set(used)].filter(
    (name) => name.startsWith('m_') && allStyles.includes(`.${name}`),
  );
  return styled.filter((name) => !styles.includes(`.${name}`));
}

const appearances = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, width })),
);

/** Runs in the page: whether a dialog is not in the middle. */
const dialogIsBeside = `[...document.querySelectorAll('[role=dialog]')].some((dialog) => {
  const { left, right } = dialog.getBoundingClientRect();
  return Math.abs(left - (document.documentElement.clientWidth - right)) > 2;
})`;

/** Runs in the page: labels of buttons that are cut. */
const cutLabels = `[...document.querySelectorAll('.mantine-Button-label')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map(({ textContent }) => textContent)`;

/** Runs in the page: what of the header is beyond the right edge. */
const beyondEdge = `[...document.querySelectorAll('header a, header button')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth)
  .map(({ textContent }) => textContent)`;

/** Runs in the page: labels of fields that are too narrow for a date with its time. */
const cutDates = `[...document.querySelectorAll('[type=datetime-local]')]
  .filter(({ clientWidth }) => clientWidth < 190)
  .map(({ labels }) => labels[0].textContent)`;

async function isFitFor(page: Page, { address, shows, open }: View): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 850 });
  await page.emulateMedia({ media: null });
  await page.goto(dashboard.server.url + address());
  await page.getByText(shows).first().waitFor();
  await open?.(page);
  // Evaluated, not inserted: the content security policy lets no script in.
  await page.evaluate(axe);
  for (const { colorScheme, width } of appearances) {
    await page.setViewportSize({ width, height: 850 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const at = `${colorScheme}, ${width} wide`;
    // Until the layout has followed the new width.
    await expect.poll(() => violationsIn(page), { message: at }).toEqual([]);
    const isTooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    await expect.poll(() => page.evaluate(isTooWide), { message: at }).toBe(false);
    await expect.poll(() => page.evaluate(dialogIsBeside), { message: at }).toBe(false);
    for (const faults of [cutLabels, beyondEdge, cutDates]) {
      await expect.poll(() => page.evaluate(faults), { message: at }).toEqual([]);
    }
    expect(await page.locator('.freshness').count(), at).toBeLessThanOrEqual(1);
  }
  expect(await unstyledIn(page)).toEqual([]);
}

// The last test closes the pages.
describe('the pages', { shuffle: false }, () => {
  describe('in light and dark, on a desk and on a phone, these are accessible and fit:', () => {
    for (const [name, view] of Object.entries(views)) {
      it(name, () => isFitFor(owner.page, view));
    }

    for (const [name, view] of Object.entries(publicViews)) {
      it(name, () => isFitFor(guest.page, view));
    }
  });

  it('an error in a page fails its test, whatever the subject of the test', async () => {
    const { page, faults } = guest;

    await page.evaluate(`document.body.append(Object.assign(document.createElement('script'), {
    textContent: 'globalThis.ran = true',
  }))`);
    await page.evaluate(`setTimeout(() => { throw new Error('uncaught') })`);
    await page.evaluate(`document.body.append(Object.assign(new Image(), { src: '/none.png' }))`);
    await page.evaluate(`console.error('written down')`);
    await expect.poll(() => faults.length).toBe(4);

    expect(await page.evaluate('globalThis.ran')).toBeUndefined();
    await expect(dashboard.closePages()).rejects.toThrow(/Content Security Policy/);
  });
});
