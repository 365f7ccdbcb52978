/**
 * The pictures of README and docs, taken of the running programs: `npm run screenshots` writes them into
 * `docs/pictures/`. Pages of the dashboard are WebP, light and dark; the output of the demo is an SVG.
 */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { sharedBrowser } from '../../support/browser.ts';
import { newAccount, startDashboard } from '../../support/dashboard.ts';
import { arrangeShowcase } from '../../support/dashboard-showcase.ts';
import { pictureOfTerminal } from '../../support/terminal-picture.ts';
import { waitFor } from '../../support/wait-for.ts';

const MAX_BYTES = 480 * 1024;
/** Of WebP, from 0 to 100. Below, text gets fringes. */
const QUALITY = 70;
/** The service evaluates alert rules every 30 s. */
const EVALUATION_MS = 30_000;

const folder = path.resolve('docs/pictures');
/** Contents by file name. They replace the pictures of before when all have been taken. */
const taken = new Map<string, Buffer | string>();

const env = { ...process.env, FORCE_COLOR: '1' };
const { stdout } = await promisify(execFile)('node', ['bin/svc-server.js', 'demo'], { env });
taken.set('demo.svg', pictureOfTerminal('Output of npm run demo', stdout));

const dashboard = await startDashboard();
try {
  const account = newAccount();
  const owner = await dashboard.clientOf(await dashboard.openSignedIn('/account', { account }));
  const { robots, verified } = await arrangeShowcase(dashboard, owner);
  const bundle = await waitFor('the chain proof of the bundle', async () => {
    const { body } = await owner.call('getBundle', { params: { id: verified.id } });
    return body.format === 'svc-bundle/2' && JSON.stringify(body, null, 2);
  });
  const forged = Buffer.from(bundle.replace('481.5', '482.5'));
  await dashboard.closePages();

  for (const colorScheme of ['light', 'dark'] as const) {
    const context = { colorScheme };
    const { page } = await dashboard.openSignedIn('/', { account, context });
    const take = async (name: string, shows: string, height: number, from?: string) => {
      await page.setViewportSize({ width: 1280, height });
      await page
        .getByText(shows)
        .first()
        .waitFor({ timeout: 2 * EVALUATION_MS });
      await page.waitForLoadState('networkidle');
      // Below the header, which stays.
      if (from !== undefined) {
        const top = await page.locator(from).evaluate((part) => part.getBoundingClientRect().top);
        await page.evaluate(`scrollBy(0, ${top - 262})`);
      }
      taken.set(`${name}-${colorScheme}.webp`, await pictureOf(page));
    };
    await take('overview', 'Battery low', 860);
    await page.goto(`${dashboard.server.url}/robots/${robots[0]?.id}?x=x_m&y=y_m&metric=motor_c`);
    await page.locator('.path-plot').waitFor();
    await take('robot', 'Path', 1640);
    await page.goto(`${dashboard.server.url}/tasks/${verified.id}`);
    await page.locator('.path-plot').waitFor();
    await take('task', 'Claim and completion', 1000, '#timeline');
    await page.goto(`${dashboard.server.url}/verify/${verified.proofHash}`);
    await take('proof', 'Checks, made in this browser', 760);
    await page.goto(`${dashboard.server.url}/verify`);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'bundle.json', mimeType: 'application/json', buffer: forged });
    await take('refused', 'Not verified', 1180);
    await dashboard.closePages();
  }
} finally {
  await dashboard.stop();
  await (await sharedBrowser()).close();
}
const bytes = [...taken.values()].reduce((sum, content) => sum + Buffer.byteLength(content), 0);
if (bytes > MAX_BYTES) throw new Error(`The pictures have more than ${MAX_BYTES} bytes.`);
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const [name, content] of taken) await writeFile(path.join(folder, name), content);
process.stdout.write(`${bytes} bytes of pictures in docs/pictures\n`);

async function pictureOf(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const options = { format: 'webp', quality: QUALITY } as const;
  const { data } = await session.send('Page.captureScreenshot', options);
  await session.detach();
  return Buffer.from(data, 'base64');
}
