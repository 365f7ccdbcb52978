import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Dashboard, openDashboard } from '../../support/dashboard.ts';

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await openDashboard();
});
// Fails if a page broke the content security policy, or asked another machine.
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

it.each(['light', 'dark'] as const)(
  'shows each route in the %s colors of the dashboard',
  async (colorScheme) => {
    const { page } = await dashboard.open('/docs', { wallet: null, context: { colorScheme } });
    // Not `click`: on a loaded machine the page grows for longer than Playwright waits for a still place.
    await page.getByText('/api/v1/tasks/{id}/complete').first().dispatchEvent('click');
    await page.getByRole('button', { name: 'Try it out' }).waitFor();
    const backgroundOf = (selector: string) =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('${selector}')).backgroundColor`,
      );
    const shown = [await backgroundOf('html'), await backgroundOf('.swagger-ui')];
    await page.goto(`${dashboard.server.url}/verify`);
    const canvas = await page.evaluate<string>(
      `(() => { const probe = document.body.appendChild(document.createElement('div')); probe.style.background = 'var(--canvas)'; return getComputedStyle(probe).backgroundColor; })()`,
    );

    expect(shown).toEqual([canvas, canvas]);
  },
);

it('leads back to the dashboard', async () => {
  const { page } = await dashboard.open('/', { wallet: null });
  await page.getByRole('link', { name: 'API', exact: true }).click();
  await page.getByText('/api/v1/tasks/{id}/complete').first().waitFor();

  await page.getByRole('link', { name: 'Dashboard' }).click();

  await page.getByRole('link', { name: 'API', exact: true }).waitFor();
});
