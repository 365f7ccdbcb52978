import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { type Dashboard, openDashboard } from '../../support/dashboard.ts';
import { waitFor } from '../../support/wait-for.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

async function openWith(names: string[]) {
  const opened = await dashboard.openSignedIn('/account');
  const owner = await dashboard.clientOf(opened);
  for (const name of names) await owner.call('createFleet', { body: { name } });
  await opened.page.goto(`${dashboard.server.url}/fleets`);
  return { ...opened, owner };
}

const grip = (page: Page, name: string) =>
  page.getByRole('button', { name: `Move ${name}, number` });

const hasOrder = (owner: Client, names: string[]) =>
  waitFor(`the order ${names}`, async () => {
    const { body } = await owner.call('listFleets');
    return body.items.map(({ name }) => name).join() === names.join();
  });

describe('fleets', () => {
  it('are created with place, shift and tags, and changed', async () => {
    const { page, owner } = await openWith([]);

    await page.getByRole('button', { name: 'Add fleet' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Hall');
    await dialog.getByLabel('Location').fill('Rotterdam');
    await dialog.getByLabel('Shift').fill('night');
    await dialog.getByLabel('Tags').fill('cold, picking, cold');
    await dialog.getByRole('button', { name: 'Add fleet' }).click();
    await page.getByText('Rotterdam · shift night').waitFor();
    await page.getByRole('button', { name: 'Edit Hall' }).click();
    await dialog.getByLabel('Location').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Rotterdam').waitFor({ state: 'detached' });

    const { body } = await owner.call('listFleets');
    expect(body.items[0]).toMatchObject({
      name: 'Hall',
      location: null,
      shift: 'night',
      tags: ['cold', 'picking'],
    });
  });

  it('are reordered by dragging', async () => {
    const { page, owner } = await openWith(['one', 'two', 'three']);

    await page
      .getByRole('listitem')
      .filter({ hasText: 'three' })
      .dragTo(page.getByRole('listitem').filter({ hasText: 'one' }));

    await hasOrder(owner, ['three', 'one', 'two']);
  });

  it('are reordered by the keyboard, which keeps the focus', async () => {
    const { page, owner } = await openWith(['one', 'two', 'three']);

    await grip(page, 'one').focus();
    await page.keyboard.press('ArrowDown');
    await hasOrder(owner, ['two', 'one', 'three']);
    await page.keyboard.press('End');

    await hasOrder(owner, ['two', 'three', 'one']);
    await page.getByText('one is now number 3 of 3').waitFor({ state: 'attached' });
  });

  it('are reordered by touch', async () => {
    const opened = await dashboard.openSignedIn('/account', { context: { hasTouch: true } });
    const { page } = opened;
    const owner = await dashboard.clientOf(opened);
    for (const name of ['one', 'two']) await owner.call('createFleet', { body: { name } });
    await page.goto(`${dashboard.server.url}/fleets`);

    await page.getByRole('button', { name: 'Move two up' }).tap();

    await hasOrder(owner, ['two', 'one']);
  });

  it('link to their robots', async () => {
    const { page } = await openWith(['Hall']);

    await page.getByRole('link', { name: '0 robots' }).click();

    await page.getByText('No robots yet').waitFor();
    expect(page.url()).toMatch(/\/robots\?fleet=/);
  });

  it('are deleted only after their name was typed', async () => {
    const { page } = await openWith(['Hall']);

    await page.getByRole('button', { name: 'Delete Hall' }).click();
    await page.getByLabel('Type Hall to confirm').fill('Hall');
    await page.getByRole('button', { name: 'Delete permanently' }).click();

    await page.getByText('No fleets yet').waitFor();
  });
});
