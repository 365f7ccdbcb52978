import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { browse } from '../../support/dashboard.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let dashboard: Awaited<ReturnType<typeof browse<{ url: string; stop(): Promise<unknown> }>>>;

beforeAll(async () => {
  const webhooks = { key: Buffer.alloc(32), ruleOf: () => () => true };
  service = await startTestService({ chain: 'mining', webhooks });
  dashboard = await browse({ url: service.url, stop: service.close });
});
afterEach(() => dashboard.closePages());
afterAll(() => dashboard?.stop());

/** What a person does to a control of the page. */
interface Hand {
  press(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
  choose(target: Locator, label: string): Promise<void>;
  /** One of a group of radio buttons. */
  pick(group: Locator, name: string): Promise<void>;
}

const MOST_TABS = 80;

/** Reaches a control with Tab alone. */
function keys(page: Page): Hand {
  const reach = async (target: Locator) => {
    await target.waitFor({ state: 'attached' });
    for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
      if (await target.evaluate((element) => element.matches(':focus'))) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${target}`);
  };
  return {
    async press(target) {
      await reach(target);
      const isBox = await target.evaluate((element) => element.matches('[type=checkbox]'));
      await page.keyboard.press(isBox ? 'Space' : 'Enter');
    },
    async type(target, text) {
      await reach(target);
      await page.keyboard.type(text);
    },
    async choose(target, label) {
      await reach(target);
      await page.keyboard.type(label);
    },
    async pick(group, name) {
      await reach(group.getByRole('radio', { checked: true }));
      const wanted = group.getByRole('radio', { name });
      while (!(await wanted.isChecked())) await page.keyboard.press('ArrowRight');
    },
  };
}

/** Letters come from the keyboard on the screen, and options from the picker of the system. */
function finger(page: Page): Hand {
  const press = (target: Locator) => tap(page, target);
  return {
    press,
    async type(target, text) {
      await press(target);
      await page.keyboard.type(text);
    },
    async choose(target, label) {
      await target.selectOption(label);
    },
    pick: (group, name) => press(group.getByText(name, { exact: true })),
  };
}

/**
 * Taps again while no control was clicked, as a person would: on a busy machine, Chromium may take a tap for a long
 * press, or the page moves under it.
 */
async function tap(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const clicked = page
    .evaluate(
      `new Promise((resolve) => {
        const onClick = ({ target }) => {
          if (target.closest('a, button, input, label, summary')) resolve();
        };
        document.addEventListener('click', onClick, true);
      })`,
    )
    .then(
      () => true,
      () => true, // The click opened another page.
    );
  do await target.tap();
  while (!(await Promise.race([clicked, sleep(5_000, false)])));
}

const hands = [
  { name: 'the keyboard', hand: keys, context: {} },
  {
    name: 'touch',
    hand: finger,
    context: { hasTouch: true, viewport: { width: 390, height: 844 } },
  },
];

describe.each(hands)('with $name', ({ hand, context }) => {
  async function openWith(robots: string[], path: string) {
    const opened = await dashboard.openSignedIn('/account', { context });
    const owner = await dashboard.clientOf(opened);
    const created = [];
    for (const name of robots) {
      created.push((await owner.call('createRobot', { body: { name } })).body.robot);
    }
    const { page } = opened;
    await page.goto(dashboard.server.url + path.replace(':id', created[0]?.id ?? ''));
    const button = (name: string, place: Page | Locator = page) =>
      place.getByRole('button', { name, exact: true });
    return { page, owner, button, dialog: page.getByRole('dialog'), ...hand(page) };
  }

  it('a user adds a robot and saves its key', async () => {
    const { page, owner, button, dialog, press, type } = await openWith([], '/robots');
    await press(button('Add robot'));
    await type(dialog.getByLabel('Name'), 'arm-1');
    await press(button('Add robot', dialog));
    await press(dialog.getByLabel('I have saved the key'));
    await press(button('Done', dialog));

    await page.getByRole('link', { name: 'arm-1' }).waitFor();
    expect((await owner.call('listRobots')).body.items).toHaveLength(1);
  });

  it('a user moves robots into a fleet and back', async () => {
    const { page, owner, button, dialog, press, choose } = await openWith(['a', 'b'], '/account');
    const { fleet } = (await owner.call('createFleet', { body: { name: 'Hall' } })).body;
    const fleets = async () =>
      (await owner.call('listRobots')).body.items.map(({ fleet_id }) => fleet_id);
    await page.goto(`${dashboard.server.url}/robots`);
    await press(page.getByLabel('Select all shown robots'));
    await choose(page.getByLabel('Move to'), 'Hall');
    await press(button('Preview move'));
    await press(button('Move 2 robots', dialog));
    await page.getByText('2 robots moved to Hall').waitFor();
    expect(await fleets()).toEqual([fleet.id, fleet.id]);
    await press(button('Undo'));
    await page.getByText('2 robots moved to Hall').waitFor({ state: 'detached' });

    expect(await fleets()).toEqual([null, null]);
  });

  it('a user rotates a key, and deletes the robot', async () => {
    const { page, owner, button, dialog, press, type } = await openWith(['arm-1'], '/robots/:id');
    await press(page.getByText('More', { exact: true }));
    await press(button('Rotate key'));
    await press(button('Rotate key', dialog));
    await press(dialog.getByLabel('I have saved the key'));
    await press(button('Done', dialog));
    await press(page.getByText('More', { exact: true }));
    await press(button('Delete'));
    await type(dialog.getByLabel('Type arm-1 to confirm'), 'arm-1');
    await press(button('Delete permanently', dialog));
    await page.getByText('No robots yet').waitFor();

    expect((await owner.call('listRobots')).body.items).toEqual([]);
  });

  it('a user chooses the period of a chart, and the one before it', async () => {
    const { page, button, press, pick } = await openWith(['arm-1'], '/robots/:id');
    const parameter = (name: string) => new URL(page.url()).searchParams.get(name);
    await pick(page.getByRole('radiogroup', { name: 'Period' }), '7 d');
    await expect.poll(() => parameter('range')).toBe('7 d');
    await press(button('Previous period'));

    await expect.poll(() => parameter('from')).not.toBeNull();
  });

  it('a user turns on an alert rule', async () => {
    const { page, press } = await openWith([], '/alerts');
    const rule = page.getByLabel('Anchor failed', { exact: true });
    await press(rule);

    await expect.poll(() => rule.isChecked()).toBe(true);
  });

  it('a user creates a webhook and a token, and revokes the token', async () => {
    const { page, button, dialog, press, type } = await openWith([], '/webhooks');
    await press(button('Create webhook'));
    await type(dialog.getByLabel('URL'), 'https://127.0.0.1:9/hook');
    await press(dialog.getByLabel('Task verified'));
    await press(button('Create webhook', dialog));
    await press(dialog.getByLabel('I have saved the secret'));
    await press(button('Done', dialog));
    await page.getByText('task.verified').waitFor();
    await page.goto(`${dashboard.server.url}/access`);
    await press(button('Create token'));
    await type(dialog.getByLabel('Name'), 'nightly');
    await press(button('Create token', dialog));
    await press(dialog.getByLabel('I have saved the token'));
    await press(button('Done', dialog));
    await press(button('Revoke nightly'));

    await page.getByText('No tokens').waitFor();
  });

  it('a user verifies a hash', async () => {
    const { page, button, press, type } = await openWith([], '/verify');
    await type(page.getByLabel('Hash, task id, address or document'), `0x${'ab'.repeat(32)}`);
    await press(button('Verify'));

    await page.waitForURL(`**/verify/0x${'ab'.repeat(32)}`);
  });

  it('a user opens another view, and signs out', async () => {
    const { page, button, press } = await openWith([], '/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    const menu = button('Open navigation');
    if (await menu.isVisible()) await press(menu);
    await press(page.getByRole('link', { name: 'Tasks', exact: true }));
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    if (await menu.isVisible()) await press(menu);
    await press(button('Sign out'));

    await page.waitForURL('**/sign-in');
  });
});
