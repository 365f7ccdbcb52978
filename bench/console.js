/**
 * The dashboard with 500 robots in a real browser: its start on a slow network and processor, typing in the search
 * while robots report, what it loads in a minute without changes, and its memory over eight hours of updates, at 30
 * times the speed. Fails when a goal is missed.
 *
 *   --hours N    of updates (default 8)
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createClient } from '../dist/client/client.js';
import { hashToken } from '../dist/server/core/sessions.js';
import { openSqliteStore } from '../dist/server/store/sqlite/open-store.js';
import { sharedBrowser } from '../test/support/browser.ts';
import { browse } from '../test/support/dashboard.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { sized } from './quick.js';
import { report } from './report.js';
import { openSite } from './site.js';

const ROBOTS = 500;
const REPORTING = 200;
/** 4G: 9 Mbit/s down, 1.5 Mbit/s up, 170 ms. */
const NETWORK = {
  offline: false,
  downloadThroughput: 9_000_000 / 8,
  uploadThroughput: 1_500_000 / 8,
  latency: 170,
};
const MINUTE_MS = 60_000;
const MINUTE_AT_SPEED_MS = 2_000;

const { values } = parseArgs({
  options: { hours: { type: 'string', default: sized('8', '0.02') } },
});

const account = privateKeyToAccount(generatePrivateKey());
const apiKeys = Array.from({ length: ROBOTS }, (_, i) => `svc_${String(i).padStart(40, '0')}`);
const server = await openSite({ blockTime: 1, robots: 0, environment: {}, fill: addRobots });
const robots = apiKeys.map((apiKey) =>
  createClient({ baseUrl: server.url, fetch, credential: { apiKey } }),
);
await reportAll(robots);
const dashboard = await browse({ url: server.url, stop: () => server.close() });
try {
  // This one's clock can be moved.
  const opened = await dashboard.openSignedIn('/robots', { account });
  const storageState = await opened.context.storageState();
  const interactiveMs = await measureStart(storageState);
  const { taskMs, keyMs } = await measureTyping(storageState);
  const kbPerMinute = await measureQuiet(storageState);
  const grownMb = await measureMemory(opened, Number(values.hours) * 60);
  report([
    ['first robots on throttled 4G, 4 times slower (ms)', interactiveMs, '<=', 2000],
    ['longest time that the page is busy (ms)', taskMs, '<=', 100],
    ['longest time from a keystroke until the page shows the letter (ms)', keyMs],
    ['loaded in a minute without changes (KB)', kbPerMinute, '<=', 20],
    [`growth of memory over ${values.hours} hours (MB)`, grownMb, '<=', 10],
  ]);
} finally {
  await dashboard.stop();
  await (await sharedBrowser()).close();
}

async function addRobots(file) {
  const clock = { now: () => Date.now() };
  const fail = (error) => {
    throw error;
  };
  const store = await openSqliteStore({ path: file, clock, serves: true, onFatal: fail });
  const wallet = account.address;
  await store.grantCredits({
    id: 'bench',
    wallet,
    anchors: 1,
    gasWei: 1n,
    note: '',
    now: clock.now(),
  });
  for (const [i, apiKey] of apiKeys.entries()) {
    await store.createRobot({
      id: `00000000-0000-7000-8000-${String(i).padStart(12, '0')}`,
      wallet,
      name: `robot ${i}`,
      description: `Arm ${i} in hall ${i % 7}`,
      keyHash: hashToken(apiKey),
      createdAt: clock.now(),
    });
  }
  await store.close();
}

async function reportAll(some) {
  const state = Math.random() < 0.5 ? 'working' : 'charging';
  const body = { battery_pct: Math.floor(Math.random() * 101), state, metrics: { cpu: 0.5 } };
  await Promise.all(some.map((robot) => robot.call('recordSamples', { body })));
}

/** A page of its own, with the session, before it loads anything. */
async function newPage(storageState) {
  const context = await (await sharedBrowser()).newContext({ storageState });
  const page = await context.newPage();
  const tools = await context.newCDPSession(page);
  await tools.send('Network.enable');
  return { context, page, tools };
}

async function measureStart(storageState) {
  const { context, page, tools } = await newPage(storageState);
  await tools.send('Network.emulateNetworkConditions', NETWORK);
  await tools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.addInitScript(`
    new MutationObserver((_, observer) => {
      if (document.querySelector('a[href^="/robots/"]') === null) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => { window.interactiveAt = performance.now(); }));
    }).observe(document, { subtree: true, childList: true });`);
  await page.goto(`${server.url}/robots`);
  const interactiveMs = await waitFor('robots', () => page.evaluate('window.interactiveAt'));
  await context.close();
  return interactiveMs;
}

async function measureTyping(storageState) {
  const { context, page } = await newPage(storageState);
  await page.goto(`${server.url}/robots`);
  await page.getByRole('link', { name: 'robot 1', exact: true }).waitFor();
  await sleep(sized(3_000, 500));
  await page.evaluate(`
    window.longest = { task: 0, event: 0 };
    const note = (kind) => (list) => {
      for (const { duration } of list.getEntries()) {
        window.longest[kind] = Math.max(window.longest[kind], duration);
      }
    };
    new PerformanceObserver(note('task')).observe({ type: 'longtask' });
    new PerformanceObserver(note('event')).observe({ type: 'event', durationThreshold: 16 });`);
  const updates = (async () => {
    for (let round = 0; round < sized(10, 2); round += 1) {
      await reportAll(robots.slice(0, REPORTING));
      await sleep(500);
    }
  })();
  const search = page.getByLabel('Search robots');
  for (let round = 0; round < sized(4, 1); round += 1) {
    await search.pressSequentially('robot 49', { delay: 80 });
    for (let key = 0; key < 8; key += 1) await search.press('Backspace', { delay: 40 });
  }
  await updates;
  const { task, event } = await page.evaluate('window.longest');
  await context.close();
  return { taskMs: task, keyMs: event };
}

async function measureQuiet(storageState) {
  const { context, page, tools } = await newPage(storageState);
  await page.goto(`${server.url}/robots`);
  // All views are loaded, and the page has read once more.
  await sleep(sized(20_000, 500));
  let bytes = 0;
  tools.on('Network.dataReceived', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await sleep(sized(MINUTE_MS, 500));
  await context.close();
  return bytes / 1000;
}

/** Growth of the JavaScript heap in MB, from the first half hour to the end. */
async function measureMemory({ page, context }, minutes) {
  const tools = await context.newCDPSession(page);
  const heap = async () => {
    await tools.send('HeapProfiler.collectGarbage');
    return (await tools.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  let first = 0;
  for (let minute = 0; minute < minutes; minute += 1) {
    if (minute === Math.min(30, Math.floor(minutes / 2))) first = await heap();
    const due = sleep(MINUTE_AT_SPEED_MS);
    await reportAll(robots.slice(0, REPORTING));
    await page.clock.fastForward(MINUTE_MS);
    await due;
  }
  return (await heap()) - first;
}
