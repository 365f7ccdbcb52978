import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Dashboard,
  type DashboardPage,
  newAccount,
  startDashboard,
} from '../support/dashboard.ts';
import { arrangeScene, type Scene } from '../support/dashboard-scene.ts';

let dashboard: Dashboard;
let scene: Scene;
let signedIn: Awaited<ReturnType<DashboardPage['context']['cookies']>>;
let axe: string;

beforeAll(async () => {
  dashboard = await startDashboard();
  const opened = await dashboard.openSignedIn('/account', { account });
  scene = await arrangeScene(dashboard, await dashboard.clientOf(opened));
  signedIn = await opened.context.cookies();
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await dashboard.closePages();
});
afterAll(() => dashboard?.stop());

const account = newAccount();

/** Of each view: its address, and what is there once it has loaded. */
const views: Record<string, { address: () => string; shows: string }> = {
  overview: { address: () => '/', shows: 'Robots online' },
  robots: { address: () => '/robots', shows: 'hauler-7' },
  'a robot': { address: () => `/robots/${scene.robots[0]?.id}`, shows: 'motor_c' },
  fleets: { address: () => '/fleets', shows: 'Hall North' },
  tasks: { address: () => '/tasks', shows: 'Pick order 4711' },
  'a task': { address: () => `/tasks/${scene.verified.id}`, shows: 'it is the evidence' },
  events: { address: () => '/events', shows: 'Gripper lost the box' },
  account: { address: () => '/account', shows: 'Wallet signature' },
  verify: { address: () => '/verify', shows: 'By its hash' },
  'a proof': {
    address: () => `/verify/${scene.verified.proofHash}`,
    shows: 'Checks, made in this browser',
  },
  'a transaction': { address: () => `/tx/${scene.verified.txHash}`, shows: 'What it anchors' },
  'a page that is not there': { address: () => '/tasks/none', shows: 'could not be read' },
};

/** Serious and critical violations, as axe finds them. */
async function violationsIn(page: Page): Promise<string[]> {
  // Evaluated, not inserted: the content security policy lets no script in.
  await page.evaluate(axe);
  const results: AxeResults = await page.evaluate('axe.run()');
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => html + failureSummary).join('\n')}`,
    );
}

const appearances = [
  { colorScheme: 'light', viewport: { width: 1280, height: 850 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

describe.each(appearances)('in $colorScheme, $viewport.width wide,', (context) => {
  it.each(Object.entries(views))('%s is accessible, fits and breaks no rule', async (_, view) => {
    const {
      page,
      context: profile,
      faults,
      strangers,
    } = await dashboard.open('/sign-in', {
      account,
      context,
    });
    await profile.addCookies(signedIn);

    await page.goto(dashboard.dev.url + view.address());
    await page.getByText(view.shows).first().waitFor();

    expect(await violationsIn(page)).toEqual([]);
    const isTooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    expect(await page.evaluate(isTooWide)).toBe(false);
    expect(faults).toEqual([]);
    expect([...strangers]).toEqual([]);
    await profile.close();
  });

  it('signing in is accessible', async () => {
    const { page, faults } = await dashboard.open('/sign-in', { context });
    await page.getByRole('button', { name: 'Test wallet' }).waitFor();

    expect(await violationsIn(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});
