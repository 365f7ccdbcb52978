import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Dashboard, newAccount, openDashboard } from '../../support/dashboard.ts';
import { arrangeScene, type Scene } from '../../support/dashboard-scene.ts';

let dashboard: Dashboard;
let scene: Scene;
const account = newAccount();

beforeAll(async () => {
  dashboard = await openDashboard();
  const opened = await dashboard.openSignedIn('/account', { account });
  scene = await arrangeScene(dashboard, await dashboard.clientOf(opened));
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

/** Bytes of script, style and font that a page loads in a new browser until it shows everything, by file. */
async function firstLoad(address: string, shows: string, isSignedIn: boolean) {
  const { context } = await (isSignedIn
    ? dashboard.openSignedIn('/account', { account })
    : dashboard.open('/verify'));
  // The other page still reads ahead.
  const page = await context.newPage();
  const tools = await context.newCDPSession(page);
  await tools.send('Network.enable');
  await tools.send('Network.setCacheDisabled', { cacheDisabled: true });
  // Views are read ahead after two seconds, which is no part of it.
  await page.addInitScript(`
    const later = window.setTimeout;
    window.setTimeout = (run, ms, ...given) => (ms === 2000 ? 0 : later(run, ms, ...given));
  `);
  // By address: without the cache, what is preloaded is requested again.
  const sizes = new Map<string, Promise<number>>();
  page.on('requestfinished', (request) => {
    if (!request.url().includes('/assets/')) return;
    // What ends with the page does not count.
    const size = request.sizes().then(({ responseBodySize }) => responseBodySize);
    sizes.set(
      request.url().replace(/.*\//, ''),
      size.catch(() => 0),
    );
  });
  await page.goto(dashboard.server.url + address);
  await page.getByText(shows).first().waitFor();
  await page.waitForLoadState('networkidle');
  const read = [...sizes].map(async ([file, size]) => [file, await size] as const);
  return Object.fromEntries(await Promise.all(read));
}

describe('the first load', () => {
  it.each([
    ['the overview', () => '/', 'h not reported', 130_000, true],
    ['a task', () => `/tasks/${scene.verified.id}`, 'Claim and completion', 170_000, true],
    [
      'a proof',
      () => `/verify/${scene.verified.proofHash}`,
      'Show the certificate',
      150_000,
      false,
    ],
    ['the page for visitors', () => '/', 'Verified in this browser', 150_000, false],
  ])('of %s is within its limit', async (_, address, shows, limit, isSignedIn) => {
    const sizes = await firstLoad(address(), shows, isSignedIn);

    const bytesOf = (isCounted: (file: string) => boolean) =>
      Object.entries(sizes).reduce((sum, [file, size]) => sum + (isCounted(file) ? size : 0), 0);
    const isFont = (file: string) => file.endsWith('.woff2');
    const bytes = bytesOf((file) => !isFont(file));
    expect(bytes).toBeGreaterThan(100_000);
    // It comes beside the page, which shows another font until then.
    expect(bytesOf(isFont)).toBeLessThanOrEqual(60_000);
    expect(bytes, JSON.stringify(sizes, null, 2)).toBeLessThanOrEqual(limit);
  });
});
