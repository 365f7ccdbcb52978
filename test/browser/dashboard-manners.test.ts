import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Dashboard, startDashboard } from '../support/dashboard.ts';
import { waitFor } from '../support/wait-for.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await startDashboard();
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

describe('by the keyboard alone', () => {
  it('one signs in, sees where one is, and goes from view to view', async () => {
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
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Fleets');
    expect(await page.title()).toBe('Fleets · svc');
  });

  it('a dialog is opened, holds the focus, and gives it back', async () => {
    const { page } = await dashboard.openSignedIn('/fleets');
    await page.getByText('No fleet yet').waitFor();

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

describe('the colours', () => {
  const scheme = (page: Page) =>
    page.evaluate('document.documentElement.getAttribute("data-mantine-color-scheme")');

  it('are those of the system until others are chosen, which stay', async () => {
    const { page } = await dashboard.open('/verify', { context: { colorScheme: 'dark' } });
    await page.getByText('By its hash').waitFor();
    expect(await scheme(page)).toBe('dark');

    await page.getByRole('button', { name: 'Use light colours' }).click();
    await page.getByRole('button', { name: 'Use dark colours' }).waitFor();
    await page.reload({ waitUntil: 'commit' });
    await page.getByText('By its hash').waitFor();

    expect(await scheme(page)).toBe('light');
  });
});

describe('without an answer', () => {
  it('a view says so, and tries again when asked', async () => {
    const { page, context } = await dashboard.openSignedIn('/tasks');
    await page.getByText('No task here').waitFor();

    await context.setOffline(true);
    await page.getByLabel('Status').selectOption('Verified');
    await page.getByText('This could not be read').waitFor({ timeout: 60_000 });
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();

    await page.getByText('No task here').waitFor({ timeout: 60_000 });
  });
});

describe('on a phone', () => {
  it('the views are behind a button that says what it does', async () => {
    const { page } = await dashboard.openSignedIn('/account', {
      context: { viewport: { width: 390, height: 844 } },
    });

    await page.getByRole('button', { name: 'Open navigation' }).click();
    await page.getByRole('link', { name: 'Tasks' }).click();

    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.getByRole('button', { name: 'Open navigation' }).waitFor();
  });
});
