import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../support/svc.ts';

let service: TestService;
let user: SvcUser;

beforeAll(async () => {
  const webhooks = { key: Buffer.alloc(32), ruleOf: () => () => true };
  service = await startTestService({ webhooks });
});
afterAll(() => service.close());
beforeEach(async () => {
  user = await createSvcUser(service.url);
  await user.signIn();
  return () => user.remove();
});

const KEY = /^svc_[0-9a-f]{40}$/;
const robotCalled = async (name: string) => (await user.json('robots', 'show', name)).robot;

describe('the name of a robot', () => {
  it('says that a robot without a signing key has no statements', async () => {
    const { robot } = await user.json('robots', 'create', 'unsigned');

    const { exitCode, stderr } = await user.svc(['robots', 'verify', robot.id]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('signs with no key.')]);
  });

  it('may be its id, the beginning of the id, or its exact name', async () => {
    const { id } = await registerRobot(service.url, user, 'hall robot');

    for (const text of [id, id.toUpperCase(), id.slice(0, 9), 'hall robot']) {
      expect((await robotCalled(text)).id).toBe(id);
    }
    const { exitCode, stderr } = await user.svc(['robots', 'show', 'hall']);
    expect([exitCode, stderr]).toEqual([5, expect.stringContaining('There is no robot “hall”')]);
  });

  it('is ambiguous if several fit: the candidates are listed and nothing changes', async () => {
    const one = await registerRobot(service.url, user, 'twin');
    const two = (await user.json('robots', 'create', 'twin', '--allow-duplicate')).robot;

    const { exitCode, stdout, stderr } = await user.svc(['robots', 'delete', 'twin', '--yes']);

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain('2 robots match “twin”');
    expect(stderr).toContain(one.id);
    expect(stderr).toContain(two.id);
    expect((await user.json('robots', 'list')).items).toHaveLength(2);
  });

  it('exits with 5 for an id of another account', async () => {
    const stranger = await createSvcUser(service.url);
    await stranger.signIn();
    const { id } = await registerRobot(service.url, stranger, 'theirs');

    expect((await user.svc(['robots', 'show', id])).exitCode).toBe(5);
    await stranger.remove();
  });
});

describe('a name that is in use', () => {
  const idOf = async (kind: string) => (await user.json(kind, 'list')).items[0].id;

  it.each([
    ['robots create', 'robots', ['robots', 'create', 'twin']],
    ['fleets create', 'fleets', ['fleets', 'create', 'twin']],
    ['tokens create', 'tokens', ['tokens', 'create', 'twin']],
  ])('%s needs --allow-duplicate without a terminal', async (_, kind, create) => {
    await user.svc(create);
    const id = await idOf(kind);

    const refused = await user.svc(create);
    const kept = (await user.json(kind, 'list')).items.length;
    const allowed = await user.svc([...create, '--allow-duplicate']);

    expect([refused.exitCode, refused.stdout, kept, allowed.exitCode]).toEqual([2, '', 1, 0]);
    expect(refused.stderr).toContain(`${id} has the name “twin”, too.`);
    expect(refused.stderr).toContain('--allow-duplicate');
    expect((await user.json(kind, 'list')).items).toHaveLength(2);
  });

  it.each(['robots', 'fleets'])(
    'is refused by %s update too, unless the robot already has it',
    async (kind) => {
      await user.svc([kind, 'create', 'twin']);
      await user.svc([kind, 'create', 'other']);
      const { items } = await user.json(kind, 'list');
      const [twin, other] = ['twin', 'other'].map(
        (wanted) => items.find(({ name }: { name: string }) => name === wanted).id,
      );
      const rename = (id: string, ...more: string[]) =>
        user.svc([kind, 'update', id, '--name', 'twin', ...more]);

      const own = await rename(twin);
      const refused = await rename(other);
      const before = await user.svc([kind, 'show', 'other']);
      const allowed = await rename(other, '--allow-duplicate');

      expect([own, refused, before, allowed].map(({ exitCode }) => exitCode)).toEqual([0, 2, 0, 0]);
      expect(refused.stderr).toContain(`${twin} has the name “twin”, too.`);
    },
  );
});

describe('svc robots', () => {
  it('create prints only the key when piped, and the id and next steps on stderr', async () => {
    const { stdout, stderr } = await user.svc(['robots', 'create', 'arm']);

    expect(stdout).toMatch(/^svc_[0-9a-f]{40}\n$/);
    expect(stderr).toContain((await robotCalled('arm')).id);
    expect(stderr).toContain('svc-agent key set');
    expect(stderr).not.toContain(stdout.trim());
  });

  it('rotate-key prints the key and a newline, and revokes the old key', async () => {
    const { robot } = await registerRobot(service.url, user, 'arm');

    const { stdout, stderr } = await user.svc(['robots', 'rotate-key', 'arm', '--yes']);

    expect(stdout).toMatch(/^svc_[0-9a-f]{40}\n$/);
    expect(stderr).toContain('svc-agent key set');
    await expect(robot.call('getOwnRobot')).rejects.toMatchObject({ code: 'invalid_api_key' });
  });

  it('revoke-key revokes the key, and rotate-key creates another', async () => {
    const { robot } = await registerRobot(service.url, user, 'arm');

    const revoked = await user.svc(['robots', 'revoke-key', 'arm', '--yes']);
    await expect(robot.call('getOwnRobot')).rejects.toMatchObject({ code: 'invalid_api_key' });
    const rotated = await user.svc(['robots', 'rotate-key', 'arm', '--yes']);

    expect([revoked.exitCode, revoked.stdout]).toEqual([0, '']);
    expect(rotated.stdout.trim()).toMatch(KEY);
  });

  it.each(['delete', 'rotate-key', 'revoke-key'])(
    '%s without a terminal and without --yes fails as a usage error',
    async (command) => {
      const { robot } = await registerRobot(service.url, user, 'arm');

      const { exitCode, stdout, stderr } = await user.svc(['robots', command, 'arm']);

      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toContain('--yes');
      expect((await robot.call('getOwnRobot')).body.robot.name).toBe('arm');
    },
  );

  it('delete takes several, and deletes none if one is unknown', async () => {
    for (const name of ['a', 'b', 'c']) await registerRobot(service.url, user, name);
    const names = async () =>
      (await user.json('robots', 'list')).items.map(({ name }: { name: string }) => name);

    const unknown = await user.svc(['robots', 'delete', 'a', 'd', '--yes']);
    expect([unknown.exitCode, await names()]).toEqual([5, ['a', 'b', 'c']]);
    const { exitCode, stderr } = await user.svc(['robots', 'delete', 'a', 'c', '--yes']);

    expect([exitCode, await names()]).toEqual([0, ['b']]);
    expect(stderr).toMatch(/^Deleted “a”.*\nDeleted “c”.*\n$/);
    const { id } = await robotCalled('b');
    expect(await user.json('robots', 'delete', 'b', '--yes')).toEqual({ id, deleted: true });
  });

  it('list stops at --limit, and continues from the cursor', async () => {
    await user.svc(['fleets', 'create', 'Hall']);
    for (const name of ['a', 'b', 'c']) await user.svc(['robots', 'create', name]);
    await user.svc(['robots', 'move', 'b', 'c', '--fleet', 'Hall']);
    const list = (...more: string[]) => user.json('robots', 'list', ...more);
    const names = ({ items }: { items: { name: string }[] }) => items.map(({ name }) => name);

    const first = await list('--limit', '2');
    const rest = await list('--cursor', first.next_cursor);
    const ofFleet = await list('--limit', '1', '--fleet', 'Hall');

    expect([first, rest, ofFleet].map(names)).toEqual([['a', 'b'], ['c'], ['b']]);
    expect(rest.next_cursor).toBeNull();
  });

  it('move states how many robots it accepts and how many were given', async () => {
    const robots = Array.from({ length: 101 }, (_, i) => `robot-${i}`);

    const { exitCode, stderr } = await user.svc(['robots', 'move', ...robots, '--no-fleet']);

    expect(exitCode).toBe(2);
    expect(stderr).toContain('svc robots move moves at most 100 robots at once; 101 are named.');
  });

  it('update changes the given fields and clears those given as ""', async () => {
    await user.svc(['robots', 'create', 'arm', '--description', 'sorts']);

    await user.svc(['robots', 'update', 'arm', '--name', 'leg']);
    expect(await robotCalled('leg')).toMatchObject({ description: 'sorts' });
    await user.svc(['robots', 'update', 'leg', '--description', '']);

    expect((await robotCalled('leg')).description).toBeNull();
    expect((await user.svc(['robots', 'update', 'leg'])).exitCode).toBe(2);
  });

  it('move puts several into a fleet or out of it, and list filters by it', async () => {
    await user.svc(['fleets', 'create', 'Hall 3']);
    for (const name of ['a', 'b', 'c']) await user.svc(['robots', 'create', name]);

    await user.svc(['robots', 'move', 'a', 'b', '--fleet', 'Hall 3']);
    const inside = await user.svc(['robots', 'list', '--fleet', 'Hall 3']);
    await user.svc(['robots', 'move', 'a', '--no-fleet']);
    const outside = await user.svc(['robots', 'list', '--no-fleet']);

    const names = ({ stdout }: { stdout: string }) =>
      stdout.split('\n').flatMap((line) => line.split('\t')[1] ?? []);
    expect([names(inside), names(outside)]).toEqual([
      ['a', 'b'],
      ['a', 'c'],
    ]);
    expect((await user.svc(['robots', 'move', 'a'])).exitCode).toBe(2);
  });

  it('create with --fleet adds the robot to that fleet', async () => {
    const fleet = (await user.json('fleets', 'create', 'Hall')).fleet;

    const made = await user.json('robots', 'create', 'arm', '--fleet', 'Hall');

    expect(made).toMatchObject({
      robot: { fleet_id: fleet.id },
      api_key: expect.stringMatching(KEY),
    });
  });

  it('reports a name that the service refuses as a usage error', async () => {
    const { exitCode, stderr } = await user.svc(['robots', 'create', 'x'.repeat(81)]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('name')]);
  });
});

describe('a command with a small loss', () => {
  it.each([
    ['fleets delete', ['fleets', 'create', 'spare']],
    ['tokens revoke', ['tokens', 'create', 'spare']],
    ['webhooks delete', ['webhooks', 'create', 'https://ops.example.org/spare']],
  ])('%s needs --yes without a terminal', async (command, create) => {
    const [kind = ''] = create;
    await user.svc(create);
    const words = [...command.split(' '), create[2] ?? ''];

    const asked = await user.svc(words);
    const kept = (await user.json(kind, 'list')).items.length;
    const confirmed = await user.svc([...words, '--yes']);

    expect([asked.exitCode, kept, confirmed.exitCode]).toEqual([2, 1, 0]);
    expect(asked.stderr).toContain('Confirm with --yes.');
    expect((await user.json(kind, 'list')).items).toEqual([]);
  });
});

describe('svc webhooks', () => {
  const url = 'https://ops.example.org/one';

  it('test of a disabled one names the command that enables it', async () => {
    const { webhook } = await user.json('webhooks', 'create', url);
    await user.svc(['webhooks', 'update', url, '--disable']);

    const { exitCode, stderr } = await user.svc(['webhooks', 'test', url]);

    const hint = `Enable it with svc webhooks update ${webhook.id} --enable.`;
    expect([exitCode, stderr]).toEqual([1, `svc: The webhook is disabled.\n${hint}\n`]);
  });

  it('create names the remedy at the limit of an account without a grant', async () => {
    await user.svc(['webhooks', 'create', url]);

    const { exitCode, stderr } = await user.svc(['webhooks', 'create', `${url}/more`]);

    expect([exitCode, stderr]).toEqual([6, expect.stringContaining('Delete an unused webhook')]);
    expect(stderr).toContain('svc-server credits grant');
  });
});

describe('svc fleets', () => {
  it('update keeps fields that are not given, as create, show and delete confirm', async () => {
    await user.svc(['fleets', 'create', 'Hall', '--location', 'Graz', '--tag', 'a', 'b']);

    await user.svc(['fleets', 'update', 'Hall', '--shift', 'night']);
    const kept = (await user.json('fleets', 'show', 'Hall')).fleet;
    await user.svc(['fleets', 'update', 'Hall', '--no-tag', '--location', '']);
    const emptied = (await user.json('fleets', 'show', 'Hall')).fleet;
    await user.svc(['fleets', 'delete', 'Hall', '--yes']);

    expect(kept).toMatchObject({ location: 'Graz', shift: 'night', tags: ['a', 'b'] });
    expect(emptied).toMatchObject({ location: null, shift: 'night', tags: [] });
    expect((await user.svc(['fleets', 'show', 'Hall'])).exitCode).toBe(5);
  });

  it('reorder puts the named ones first', async () => {
    for (const name of ['a', 'b', 'c']) await user.svc(['fleets', 'create', name]);

    const { fleets } = await user.json('fleets', 'reorder', 'c', 'b');

    expect(fleets.map(({ name }: { name: string }) => name)).toEqual(['c', 'b', 'a']);
  });
});

describe('reading what robots did', () => {
  let robot: Client;
  beforeEach(async () => {
    ({ robot } = await registerRobot(service.url, user, 'arm'));
  });

  it('tasks list filters, stops at the limit and continues from the cursor', async () => {
    for (const title of ['one', 'two', 'three'])
      await robot.call('createTask', { body: { title } });

    const first = await user.json('tasks', 'list', '--robot', 'arm', '--limit', '2');
    const rest = await user.json('tasks', 'list', '--cursor', first.next_cursor);

    const titles = (page: { items: { title: string }[] }) => page.items.map(({ title }) => title);
    expect([titles(first), titles(rest)]).toEqual([['three', 'two'], ['one']]);
    expect((await user.json('tasks', 'list', '--status', 'verified')).items).toEqual([]);
  });

  it('tasks watch exits with 8 when its time is over', async () => {
    const { body } = await robot.call('createTask', { body: { title: 'late' } });

    const { exitCode, stdout, stderr } = await user.svc([
      'tasks',
      'watch',
      body.task.id,
      '--timeout',
      '1',
    ]);

    expect([exitCode, stdout]).toEqual([8, expect.stringContaining('title\tlate\n')]);
    expect(stderr).toContain('no proof was submitted yet');
    expect(stderr).toContain('no evidence of this task yet: the robot must submit it');
  });

  it('bundle of a task without evidence exits with 8', async () => {
    const { body } = await robot.call('createTask', { body: { title: 'late' } });

    const { exitCode, stdout, stderr } = await user.svc(['bundle', body.task.id]);

    expect([exitCode, stdout]).toEqual([8, '']);
    expect(stderr).toContain('The service has no evidence of this task yet.');
  });

  it('telemetry lists samples, or a series', async () => {
    await robot.call('recordSamples', {
      body: {
        samples: [
          { battery_pct: 40, recorded_at: '2026-01-15T12:00:00Z', metrics: { cpu: 1 } },
          { battery_pct: 60, recorded_at: '2026-01-15T12:30:00Z' },
        ],
      },
    });

    const samples = await user.svc(['telemetry', 'arm']);
    const range = ['--from', '2026-01-15T12:00Z', '--to', '2026-01-15T14:00+01:00'];
    const series = await user.svc(['telemetry', 'arm', '--resolution', 'hour', ...range]);

    expect(samples.stdout).toBe(
      '2026-01-15T12:30:00.000Z\t60\t\t{}\n2026-01-15T12:00:00.000Z\t40\t\t{"cpu":1}\n',
    );
    expect(series.stdout).toBe(
      '2026-01-15T12:00:00.000Z\t2\t40\t50\t60\t{}\t{"cpu":{"min":1,"avg":1,"max":1}}\n',
    );
  });

  it.each([
    ['--from', '2026-01-15T12:00'],
    ['--to', '20260115T120000.5'],
  ])('telemetry refuses %s with a time without a zone', async (option, time) => {
    const { exitCode, stderr } = await user.svc(['telemetry', 'arm', option, time]);
    const ofDay = await user.svc(['telemetry', 'arm', option, '2026-01-15']);

    expect([exitCode, ofDay.exitCode]).toEqual([2, 0]);
    expect(stderr).toContain('has no time zone: append Z for UTC');
  });

  it('stats counts robots and what they sent', async () => {
    await robot.call('recordSamples', { body: { battery_pct: 7, state: 'busy' } });

    const { stdout } = await user.svc(['stats']);

    expect(stdout).toMatch(/^robots\t1\nrobots online\t1\nrobots busy\t1\n/);
    expect(stdout).toContain('battery below 20 %\t1\n');
  });

  it('events shows when an event occurred if that differs from when it was received', async () => {
    const occurred_at = '2026-01-15T12:00:00.000Z';
    await robot.call('createEvent', { body: { event_type: 'late', occurred_at } });
    await robot.call('createEvent', { body: { event_type: 'prompt' } });

    const { stdout } = await user.svc(['events']);

    expect(stdout.split('\n').map((line) => line.split('\t').at(-1))).toEqual([
      '',
      occurred_at,
      '',
    ]);
  });

  it('tasks show finds a task by the start of its id', async () => {
    const { task } = (await robot.call('createTask', { body: { title: 'one' } })).body;
    const other = (await robot.call('createTask', { body: { title: 'two' } })).body.task;

    const found = await user.json('tasks', 'show', task.id.slice(0, -1).toUpperCase());
    const ambiguous = await user.svc(['tasks', 'show', '0']);
    const unknown = await user.svc(['tasks', 'show', 'ffff']);

    expect(found.task.title).toBe('one');
    expect([ambiguous.exitCode, ambiguous.stderr]).toEqual([2, expect.stringContaining(other.id)]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      5,
      expect.stringContaining('svc tasks list'),
    ]);
  });

  it('credits shows what is left, and --ledger every change', async () => {
    const left = await user.svc(['credits']);
    const ledger = await user.svc(['credits', '--ledger']);

    expect(left.stdout).toContain('anchor_quota\t1000\n');
    expect(ledger.stdout).toMatch(/\tgrant\t1000\t1000000000000000000\t\t/);
  });

  it('sessions revoke ends a session immediately', async () => {
    const second = await createSvcUser(service.url);
    await second.svc(['login', service.url, '--key-file', user.keyFile]);

    const { items } = await user.json('sessions', 'list');
    const other = items.find(({ current }: { current: boolean }) => !current);
    await user.svc(['sessions', 'revoke', other.id]);

    expect((await second.svc(['whoami'])).exitCode).toBe(4);
    expect((await user.svc(['whoami'])).exitCode).toBe(0);
    await second.remove();
  });

  it('chain needs no session', async () => {
    const stranger = await createSvcUser(service.url);

    const { stdout } = await stranger.svc(['chain', '--url', service.url, '--add-to-wallet-json']);

    expect(JSON.parse(stdout)).toMatchObject({ chainId: '0x7a69', chainName: 'Test chain' });
    await stranger.remove();
  });
});
