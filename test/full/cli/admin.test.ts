import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../../support/svc.ts';

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

describe('svc robots', () => {
  it.each([
    ['delete', 'with all tasks'],
    ['rotate-key', 'stops working'],
    ['revoke-key', 'stops working'],
  ])('%s asks for the name, and does nothing for a wrong one', async (command, consequence) => {
    const { robot } = await registerRobot(service.url, user, 'arm');

    const typed = [['to go on: ', 'arn\r']] as const;
    const { exitCode, screen } = await user.inTerminal(['robots', command, 'arm'], { typed });

    expect([exitCode, screen]).toEqual([1, expect.stringContaining(consequence)]);
    expect((await robot.call('getOwnRobot')).body.robot.name).toBe('arm');
  });

  it('delete deletes the robot for the correct name', async () => {
    await registerRobot(service.url, user, 'arm');

    const typed = [['to go on: ', 'arm\r']] as const;
    const { exitCode } = await user.inTerminal(['robots', 'delete', 'arm'], { typed });

    expect(exitCode).toBe(0);
    expect((await user.json('robots', 'list')).items).toEqual([]);
  });

  it.each([
    ['arm\r', 1, 2],
    ['2 robots\r', 0, 0],
  ])('delete of several asks for their number: %j', async (answer, code, left) => {
    for (const name of ['arm', 'leg']) await registerRobot(service.url, user, name);

    const typed = [[/“arm”, “leg”[\s\S]*to go on: /, answer]] as const;
    const { exitCode } = await user.inTerminal(['robots', 'delete', 'arm', 'leg'], { typed });

    expect([exitCode, (await user.json('robots', 'list')).items.length]).toEqual([code, left]);
  });
});

describe('a name that is in use', () => {
  it.each([
    ['n', 1, 1],
    ['y', 0, 2],
  ])('needs a confirmation in a terminal: %s', async (answer, code, count) => {
    const { id } = await registerRobot(service.url, user, 'twin');

    const typed = [['Go on? [y/N] ', `${answer}\r`]] as const;
    const { exitCode, screen } = await user.inTerminal(['robots', 'create', 'twin'], { typed });

    expect([exitCode, screen]).toEqual([code, expect.stringContaining(`The robot ${id} has`)]);
    expect((await user.json('robots', 'list')).items).toHaveLength(count);
  });
});

describe('a smaller loss', () => {
  it.each([
    ['fleets delete', ['fleets', 'create', 'spare']],
    ['tokens revoke', ['tokens', 'create', 'spare']],
    ['webhooks delete', ['webhooks', 'create', 'https://127.0.0.1.nip.io/spare']],
  ])('%s asks for yes, not for the name', async (command, create) => {
    const [kind = ''] = create;
    expect((await user.svc(create)).exitCode).toBe(0);
    const words = [...command.split(' '), create[2] ?? ''];
    const answer = (text: string) =>
      user.inTerminal(words, { typed: [['Go on? [y/N] ', `${text}\r`]] });

    const refused = await answer('');
    const kept = (await user.json(kind, 'list')).items.length;
    const agreed = await answer('y');

    expect([refused.exitCode, kept, agreed.exitCode]).toEqual([1, 1, 0]);
    expect(refused.screen).toContain('nothing was changed');
    expect((await user.json(kind, 'list')).items).toEqual([]);
  });
});

describe('reading what robots did', () => {
  let robot: Client;
  beforeEach(async () => {
    ({ robot } = await registerRobot(service.url, user, 'arm'));
  });

  it('escapes what could drive a terminal everywhere but in JSON', async () => {
    const evil = 'a\u001b[2Jb\u202ec\td\ne\u009bf';
    await robot.call('createEvent', { body: { event_type: 'info', message: evil } });

    const shown = 'a\\u{1b}[2Jb\\u{202e}c\\u{9}d\\u{a}e\\u{9b}f';
    const { stdout } = await user.svc(['events']);
    const { screen } = await user.inTerminal(['events'], { columns: 200 });
    const json = await user.svc(['events', '--json']);

    expect(stdout.split('\t').slice(4)).toEqual([shown, '\n']);
    expect(screen).toContain(shown);
    expect(JSON.parse(json.stdout).items[0].message).toBe(evil);
    expect(json.stdout.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('credits shows ether and gwei beside wei on a terminal', async () => {
    const { screen } = await user.inTerminal(['credits']);

    expect(screen).toContain('1000000000000000000 (1 ETH, 1000000000 gwei)');
  });
});
