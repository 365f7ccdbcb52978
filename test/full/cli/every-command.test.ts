import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { generatePrivateKey } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groupsFor } from '../../../src/cli/groups.ts';
import { type DevProcess, run, startDev } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { newSigner } from '../../support/signing-robot.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: string;
let dev: DevProcess;
let user: SvcUser;
let taskId: string;
let openAlert: string;
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-commands-'));
  dev = await startDev(path.join(folder, 'data'));
  user = await createSvcUser(dev.url);
  await user.signIn();
  const { robot } = await registerRobot(dev.url, user, 'arm');
  await robot.call('createEvent', { body: { event_type: 'info', message: 'begun' } });
  await robot.call('recordSamples', { body: { battery_pct: 50, state: 'busy' } });
  const { body } = await robot.call('createTask', { body: { title: 'Pick parcels' } });
  taskId = body.task.id;
  const params = { id: taskId };
  const answer = await robot.call('completeTask', { params, body: { proof: { picked: 12 } } });
  if (answer.status !== 200) throw new Error('the proof was not anchored in time');
  await writeFile(user.file('receipt.json'), JSON.stringify(answer.body));
  await writeFile(user.file('evidence.json'), '{"picked":12}');
  await user.svc(['fleets', 'create', 'Hall']);
  await user.svc(['alerts', 'watch', 'battery_low', '--threshold', '60']);
  // The service evaluates the rules when it starts.
  await dev.stop();
  dev = await startDev(path.join(folder, 'data'), new URL(dev.url).port);
  openAlert = await waitFor(
    'the alert',
    async () => (await user.json('alerts', 'list')).items[0]?.id,
  );
});

afterAll(async () => {
  await dev?.stop();
  await user?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** A name that nothing has yet. */
const fresh = async (kind: 'robots' | 'fleets') => {
  made += 1;
  const name = `spare ${made}`;
  await user.svc([kind, 'create', name]);
  return name;
};
const spareProfile = async () => {
  made += 1;
  await user.signIn('--profile', `spare${made}`);
  await user.svc(['config', 'use', home()]);
  return `spare${made}`;
};
const spareSession = async () => {
  await user.signIn('--profile', await spareProfile());
  await user.svc(['config', 'use', home()]);
  const { items } = await user.json('sessions', 'list');
  return items.find(({ current }: { current: boolean }) => !current).id;
};
const spareToken = async () => (await user.json('tokens', 'create', 'spare')).token.id;
/** The account has no grant, and so one webhook. */
const dropWebhooks = async () => {
  const { items } = await user.json('webhooks', 'list');
  for (const { id } of items) await user.svc(['webhooks', 'delete', id, '--yes']);
};
const spareWebhook = async () => {
  await dropWebhooks();
  return (await user.json('webhooks', 'create', 'https://127.0.0.1.nip.io/')).webhook.id;
};
/** The profile and the key file of another wallet. */
const spareAccount = async () => {
  made += 1;
  const [name, keyFile] = [`other${made}`, user.file('other-key')];
  await writeFile(keyFile, generatePrivateKey(), { mode: 0o600 });
  await user.svc(['login', dev.url, '--key-file', keyFile, '--profile', name]);
  await user.svc(['config', 'use', home()]);
  return ['--profile', name, '--key-file', keyFile];
};
const home = () => new URL(dev.url).host.replace(':', '_');

/** The service, saved or not. */
const service = async (isSaved: boolean) => {
  await user.svc(['trust', 'remove', dev.url]);
  if (isSaved) await user.svc(['trust', 'add', dev.url, '--yes']);
  return dev.url;
};

/** A robot that proposes a key. */
const proposing = async () => {
  made += 1;
  const { id, robot } = await registerRobot(dev.url, user, `signing ${made}`);
  await robot.call('proposeKey', { body: { public_key: newSigner().publicKey } });
  return id;
};
/** A robot whose key is in use. */
const signing = async () => {
  const id = await proposing();
  await user.svc(['robots', 'sign-key', id, '--key-file', user.keyFile, '--yes']);
  return id;
};

/** A call of each command that succeeds. */
const calls: Record<string, () => Promise<string[]>> = {
  login: async () => [dev.url, '--key-file', user.keyFile],
  logout: async () => ['--profile', await spareProfile()],
  whoami: async () => [],
  credits: async () => ['--ledger'],
  'account export': async () => ['--key-file', user.keyFile],
  'account delete': async () => [...(await spareAccount()), '--yes'],
  'sessions list': async () => [],
  'sessions revoke': async () => [await spareSession()],
  'tokens create': async () => ['ci', '--allow-duplicate'],
  'tokens list': async () => [],
  'tokens revoke': async () => [await spareToken(), '--yes'],
  'wallet new': async () => {
    made += 1;
    await writeFile(user.file('password'), 'correct horse', { mode: 0o600 });
    return [
      '--keystore',
      user.file(`wallet${made}.json`),
      '--password-file',
      user.file('password'),
    ];
  },
  'webhooks create': async () => {
    await dropWebhooks();
    return ['https://ops.example.org/new'];
  },
  'webhooks list': async () => [],
  'webhooks update': async () => [await spareWebhook(), '--disable'],
  'webhooks rotate-secret': async () => [await spareWebhook()],
  'webhooks delete': async () => [await spareWebhook(), '--yes'],
  'webhooks test': async () => [await spareWebhook()],
  'webhooks deliveries': async () => [await spareWebhook()],
  'webhooks replay': async () => {
    const { delivery } = await user.json('webhooks', 'test', await spareWebhook());
    return [delivery.id];
  },
  'alerts list': async () => ['--open'],
  'alerts acknowledge': async () => [openAlert],
  'alerts rules': async () => [],
  'alerts watch': async () => ['credit_low', '--threshold', '5'],
  'alerts unwatch': async () => {
    await user.svc(['alerts', 'watch', 'robot_offline']);
    return ['robot_offline'];
  },
  audit: async () => [],
  'config list': async () => [],
  'config use': async () => [home()],
  'config remove': async () => [await spareProfile()],
  'robots list': async () => [],
  'robots show': async () => ['arm'],
  'robots create': async () => ['arm 2', '--allow-duplicate'],
  'robots update': async () => ['arm', '--description', 'sorts'],
  'robots move': async () => ['arm', '--fleet', 'Hall'],
  'robots rotate-key': async () => [await fresh('robots'), '--yes'],
  'robots revoke-key': async () => [await fresh('robots'), '--yes'],
  'robots sign-key': async () => [await proposing(), '--key-file', user.keyFile, '--yes'],
  'robots revoke-signing-key': async () => [await signing(), '--key-file', user.keyFile, '--yes'],
  'robots verify': async () => [await signing()],
  'robots export': async () => [await signing()],
  'robots delete': async () => [await fresh('robots'), '--yes'],
  'fleets list': async () => [],
  'fleets show': async () => ['Hall'],
  'fleets create': async () => ['Hall 2', '--allow-duplicate'],
  'fleets update': async () => ['Hall', '--shift', 'night'],
  'fleets reorder': async () => ['Hall'],
  'fleets delete': async () => [await fresh('fleets'), '--yes'],
  'tasks list': async () => [],
  'tasks show': async () => [taskId],
  'tasks watch': async () => [taskId],
  telemetry: async () => ['arm'],
  events: async () => ['--severity', 'info'],
  stats: async () => [],
  chain: async () => [],
  hash: async () => [user.file('evidence.json')],
  'prove-part': async () => [user.file('evidence.json'), '--bytes', '0-1'],
  verify: async () => [user.file('receipt.json'), '--rpc-url', dev.rpc_url],
  'trust add': async () => [await service(false), '--yes'],
  'trust list': async () => [],
  'trust show': async () => [await service(true)],
  'trust refresh': async () => [await service(true)],
  'trust remove': async () => [await service(true)],
  bundle: async () => [taskId],
  doctor: async () => [],
  completion: async () => ['bash'],
  help: async () => ['exit-codes'],
};

const ESCAPE = '\u001b';
const groups = await groupsFor([]);
const paths = groups.flatMap(({ commands }) => commands.map(({ path }) => path));
const parents = groups.map(({ name }) => name).filter((name) => !paths.includes(name));
const wordsOf = (path: string) => path.split(' ').filter(Boolean);

describe('the command table', () => {
  it('is covered by the calls below', () => {
    expect([...Object.keys(calls), ENDLESS].sort()).toEqual([...paths].sort());
  });
});

/** Runs until Ctrl-C: test/full/cli/webhooks.test.ts. */
const ENDLESS = 'webhooks listen';

describe.each(paths.filter((path) => path !== ENDLESS))('svc %s', (command) => {
  const call = async (...more: string[]) => [
    ...command.split(' '),
    ...((await calls[command]?.()) ?? []),
    ...more,
  ];

  it('piped, writes data without colors and exits with 0', async () => {
    const { exitCode, stdout, stderr } = await user.svc(await call());

    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('svc: ')]);
    expect(stdout + stderr).not.toContain(ESCAPE);
  });

  it('with --json writes one JSON value and nothing on stderr', async () => {
    const { exitCode, stdout, stderr } = await user.svc(await call('--json'));

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });

  it('in a terminal with NO_COLOR writes no color', async () => {
    const args = await call();

    const { exitCode, screen } = await user.inTerminal(args, { env: { NO_COLOR: '1' } });

    expect(exitCode).toBe(0);
    expect(screen).not.toMatch(new RegExp(`${ESCAPE}\\[[\\d;]*m`));
  });

  it('has help with examples of itself', async () => {
    const { stdout } = await runInProcess('svc', [...wordsOf(command), '--help']);

    expect(stdout).toMatch(new RegExp(`^Usage: svc ${command} `));
    expect(stdout).toMatch(new RegExp(`\nExamples:\n[\\s\\S]*svc ${command}`));
  });
});

describe.each(['', ...parents, ...paths])('svc %s --help', (path) => {
  it('prints what svc help prints', async () => {
    const asked = await runInProcess('svc', [...wordsOf(path), '--help']);

    expect(asked).toEqual(await runInProcess('svc', ['help', ...wordsOf(path)]));
    expect([asked.exitCode, asked.stderr]).toEqual([0, '']);
  });
});

describe('svc --help of the bundle', () => {
  it('works for every command', async () => {
    for (const path of ['', ...parents, ...paths]) {
      const { exitCode, stdout, stderr } = await run('svc', [...wordsOf(path), '--help']);
      expect([exitCode, stderr]).toEqual([0, '']);
      expect(stdout).toContain(`Usage: svc ${path}`.trim());
    }
  });
});

describe.each(parents)('svc %s', (group) => {
  it('without arguments prints its help and fails as a usage error', async () => {
    const { exitCode, stdout, stderr } = await runInProcess('svc', [group]);

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`Usage: svc ${group}`);
  });
});
