/**
 * Pictures of every view and dialog, at desk and phone width, light and dark, for people to look at:
 * `npm run screenshots:all` writes them into `screenshots/`.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { sharedBrowser } from '../../support/browser.ts';
import { newAccount, startDashboard } from '../../support/dashboard.ts';
import { arrangeShowcase, type Showcase } from '../../support/dashboard-showcase.ts';

interface Shot {
  address: string;
  /** What is there once it has loaded. */
  shows: string;
  /** What is done before the picture. */
  act?: (page: Page) => Promise<void>;
}

const press = (name: string) => (page: Page) => page.getByRole('button', { name }).first().click();

const fromMenu = (name: string) => async (page: Page) => {
  await page.getByText('More', { exact: true }).click();
  await press(name)(page);
};

const shotsOf = ({ robots, verified, claimed }: Showcase): Record<string, Shot> => ({
  overview: { address: '/', shows: 'Robots online' },
  robots: { address: '/robots', shows: 'Picker 01' },
  'robots-selected': {
    address: '/robots',
    shows: 'Picker 01',
    act: async (page) => {
      await page.getByLabel('Select Picker 01').check();
      await page.getByLabel('Select Picker 02').check();
    },
  },
  'robot-add': { address: '/robots', shows: 'Picker 01', act: press('Add robot') },
  'robot-key': {
    address: `/robots/${robots[1]?.id}`,
    shows: 'motor_c',
    act: async (page) => {
      await fromMenu('Rotate key')(page);
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click();
      await page.getByText('Copy this key now').waitFor();
    },
  },
  robot: { address: `/robots/${robots[0]?.id}`, shows: 'motor_c' },
  'robot-6h': {
    address: `/robots/${robots[0]?.id}`,
    shows: 'motor_c',
    act: (page) => page.getByText('6 h', { exact: true }).click(),
  },
  'robot-edit': { address: `/robots/${robots[0]?.id}`, shows: 'motor_c', act: press('Edit') },
  'robot-delete': {
    address: `/robots/${robots[0]?.id}`,
    shows: 'motor_c',
    act: fromMenu('Delete'),
  },
  'robot-revoke': {
    address: `/robots/${robots[0]?.id}`,
    shows: 'motor_c',
    act: fromMenu('Revoke key'),
  },
  'robot-long-name': { address: `/robots/${robots.at(-1)?.id}`, shows: 'motor_c' },
  fleets: { address: '/fleets', shows: 'Hall North' },
  'fleet-edit': { address: '/fleets', shows: 'Hall North', act: press('Edit Hall North') },
  tasks: { address: '/tasks', shows: 'Pick order 4711' },
  task: { address: `/tasks/${verified.id}`, shows: 'the evidence matches' },
  'task-erase': {
    address: `/tasks/${verified.id}`,
    shows: 'the evidence matches',
    act: press('Erase evidence'),
  },
  'task-claimed': { address: `/tasks/${claimed.id}`, shows: 'has not submitted a proof' },
  events: { address: '/events', shows: 'Gripper lost the box' },
  account: { address: '/account', shows: 'Credit history' },
  alerts: { address: '/alerts', shows: 'Battery low' },
  webhooks: { address: '/webhooks', shows: 'No webhooks' },
  access: { address: '/access', shows: 'Audit log' },
  verify: { address: '/verify', shows: 'By a hash, an id or an address' },
  proof: { address: `/verify/${verified.proofHash}`, shows: 'Checks, made in this browser' },
  transaction: { address: `/tx/${verified.txHash}`, shows: 'Anchored content' },
  'robots-unreachable': {
    address: '/robots',
    shows: 'Picker 01',
    act: async (page) => {
      await page.context().setOffline(true);
      await page.getByText('Not current').waitFor();
      await page.context().setOffline(false);
    },
  },
  'not-found': { address: '/tasks/none', shows: 'Not found, or deleted' },
});

const forNewcomers: Record<string, Shot> = {
  landing: { address: '/', shows: 'Verified in this browser' },
  'sign-in': { address: '/sign-in', shows: 'Test wallet' },
  'cli-login': {
    address: '/cli-login',
    shows: 'Test wallet',
  },
};

const empty: Record<string, Shot> = {
  'overview-empty': { address: '/', shows: 'First steps' },
  'robots-empty': { address: '/robots', shows: 'No robot' },
  'fleets-empty': { address: '/fleets', shows: 'No fleet' },
  'tasks-empty': { address: '/tasks', shows: 'No task' },
  'events-empty': { address: '/events', shows: 'No event' },
};

const widths = { desk: { width: 1280, height: 850 }, phone: { width: 390, height: 844 } };

const only = process.argv.slice(2);
const folder = path.resolve('screenshots');
await mkdir(folder, { recursive: true });
const dashboard = await startDashboard();
try {
  const worked = newAccount();
  const opened = await dashboard.openSignedIn('/account', { account: worked });
  const showcase = await arrangeShowcase(dashboard, await dashboard.clientOf(opened));
  await dashboard.closePages();
  for (const [width, viewport] of Object.entries(widths)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const look = { suffix: `${width}-${colorScheme}`, context: { viewport, colorScheme } };
      await take(await dashboard.open('/sign-in', { context: look.context }), forNewcomers, look);
      const newcomer = { context: look.context };
      await take(await dashboard.openSignedIn('/account', newcomer), empty, look);
      const owner = { account: worked, context: look.context };
      await take(await dashboard.openSignedIn('/account', owner), shotsOf(showcase), look);
      await dashboard.closePages();
    }
  }
} finally {
  await dashboard.stop();
  await (await sharedBrowser()).close();
}

interface Look {
  suffix: string;
  context: { viewport: { width: number; height: number }; colorScheme: 'light' | 'dark' };
}

async function take(
  { page }: { page: Page },
  shots: Record<string, Shot>,
  { suffix, context }: Look,
) {
  for (const [name, { address, shows, act }] of Object.entries(shots)) {
    if (only.length > 0 && !only.includes(name)) continue;
    await page.goto(dashboard.server.url + address);
    await page.getByText(shows).first().waitFor();
    await act?.(page);
    await page.waitForLoadState('networkidle');
    await page.evaluate(
      'Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {})))',
    );
    const { width, height } = context.viewport;
    const isDialog = (await page.getByRole('dialog').count()) > 0;
    const whole: number = isDialog ? 0 : await page.evaluate('document.body.scrollHeight');
    // Not `fullPage`, which leaves what is fixed in the middle of the picture.
    await page.setViewportSize({ width, height: Math.max(height, whole) });
    // What follows the new height does so by a transition.
    await page.screenshot({
      path: path.join(folder, `${name}-${suffix}.png`),
      animations: 'disabled',
    });
    await page.setViewportSize({ width, height });
  }
}
