import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../../../src/cli/program/exit-codes.ts';
import type { Client } from '../../../src/client/client.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

let service: TestService;
let user: SvcUser;
let robot: Client;
let aheadMs = 0;

beforeAll(async () => {
  service = await startTestService({ clock: { now: () => Date.now() + aheadMs } });
  user = await createSvcUser(service.url);
  await user.signIn();
  ({ robot } = await registerRobot(service.url, user, 'arm'));
});
afterAll(async () => {
  await user.remove();
  await service.close();
});

const bin = fileURLToPath(new URL('../../../bin/svc.cjs', import.meta.url));

describe('standard output', () => {
  /** Runs `svc help exit-codes` with what the bash command makes of its standard output. */
  const written = async (command: string) => {
    const child = spawn('bash', ['-c', command, process.execPath, bin, 'help', 'exit-codes'], {
      env: { PATH: process.env.PATH, ...user.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
    return [child.exitCode, stderr];
  };

  it('whose reader closed it ends svc quietly, and not with success', async () => {
    const ended = await written('exec 3> >(:); wait $!; exec "$0" "$@" >&3');

    expect(ended).toEqual([exitCodes.outputClosed, '']);
  });

  it('that is full is reported in a sentence', async () => {
    const ended = await written('exec "$0" "$@" > /dev/full');

    expect(ended).toEqual([1, 'svc: Cannot write standard output (ENOSPC).\n']);
  });
});

describe('colors', () => {
  const bold = '\u001b[1m';

  it.each([
    ['on a terminal', {}, true],
    ['with NO_COLOR', { NO_COLOR: '1' }, false],
    ['with an empty NO_COLOR', { NO_COLOR: '' }, true],
    ['with TERM=dumb', { TERM: 'dumb' }, false],
    ['with FORCE_COLOR over NO_COLOR', { NO_COLOR: '1', FORCE_COLOR: '1' }, true],
  ])('%s', async (_, env, colored) => {
    const { screen } = await user.inTerminal(['robots', 'list'], {
      env: env as unknown as Record<string, string>,
    });

    expect(screen.includes(bold)).toBe(colored);
    expect(screen).toContain('arm');
  });

  it('are written to a pipe with FORCE_COLOR, into the same values', async () => {
    const env = { FORCE_COLOR: '1' };
    const { stdout, stderr } = await user.spawnSvc(['robots', 'list'], { env });

    expect(stdout.split('\t')[1]).toBe('arm');
    expect(stderr).toBe('');
  });
});

describe('the spinner', () => {
  const cyan = '\u001b[36m';

  it.each([
    ['colours on a terminal', {}, true],
    ['none with NO_COLOR', { NO_COLOR: '1' }, false],
  ])('has %s', async (_, colors, isColored) => {
    let answer = () => {};
    const silent = createServer((_, response) => {
      answer = () => response.writeHead(500).end();
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const shown: [string, () => string] = [
      'Checking',
      () => {
        answer();
        return '';
      },
    ];

    const env = colors as Record<string, string>;
    const { screen } = await user.inTerminal(['doctor', '--url', url], { env, typed: [shown] });

    silent.close();
    expect(screen.includes(cyan)).toBe(isColored);
    expect(screen).toContain('Checking');
  });
});

describe('Ctrl-C', () => {
  it('at a prompt leaves with 130 and changes nothing', async () => {
    const typed = [['to go on: ', '\u0003']] as const;

    const { exitCode } = await user.inTerminal(['robots', 'delete', 'arm'], { typed });

    expect(exitCode).toBe(130);
    expect((await robot.call('getOwnRobot')).status).toBe(200);
  });

  it('while something is waited for shows the cursor again, with 130', async () => {
    const { body } = await robot.call('createTask', { body: { title: 'never done' } });
    const typed = [['Waiting for the anchor', '\u0003']] as const;

    const { exitCode, screen } = await user.inTerminal(['tasks', 'watch', body.task.id], { typed });

    expect(exitCode).toBe(130);
    expect(screen.lastIndexOf('\u001b[?25h')).toBeGreaterThan(screen.lastIndexOf('\u001b[?25l'));
  });

  it('without a terminal leaves with 130 too', async () => {
    const child = spawn(process.execPath, [bin, 'events', '--follow'], {
      env: { PATH: process.env.PATH, ...user.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let read = '';
    child.stdout.on('data', (text) => {
      read += text;
    });
    await robot.call('createEvent', { body: { event_type: 'interrupted' } });
    await waitFor('the event', () => read.includes('interrupted'), 30_000);

    child.kill('SIGINT');
    const [code] = await once(child, 'exit');

    expect(code).toBe(130);
  });
});

describe('svc events --follow', () => {
  const note = (event_type: string, message: string) =>
    robot.call('createEvent', { body: { event_type, message } });

  /** What it prints from now on, and what ends it. */
  const followed = (type: string) => {
    const args = ['events', '--follow', '--type', type, '--json'];
    const child = spawn(process.execPath, [bin, ...args], {
      env: { PATH: process.env.PATH, ...user.env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let read = '';
    child.stdout.on('data', (text) => {
      read += text;
    });
    const lines = () =>
      read
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).message);
    const end = async () => {
      child.kill('SIGINT');
      await once(child, 'exit');
    };
    return { lines, end };
  };

  it('prints each event once, oldest first, as JSON lines with --json', async () => {
    await note('followed', '1');
    await note('followed', '2');
    const { lines, end } = followed('followed');
    await waitFor('what was there', () => lines().length >= 2, 30_000);

    await note('followed', '3');
    await waitFor('the next event', () => lines().includes('3'), 30_000);
    await note('followed', '4');
    await waitFor('the one after', () => lines().includes('4'), 30_000);
    await end();

    expect(lines()).toEqual(['1', '2', '3', '4']);
  });

  it('also prints events of an instance whose clock is behind', async () => {
    await note('skewed', '1');
    const { lines, end } = followed('skewed');
    await waitFor('what was there', () => lines().length === 1, 30_000);

    aheadMs = -1_000;
    await note('skewed', '2');
    await waitFor('the next event', () => lines().includes('2'), 30_000);
    aheadMs = 0;
    await note('skewed', '3');
    await waitFor('the one after', () => lines().includes('3'), 30_000);
    await end();

    expect(lines()).toEqual(['1', '2', '3']);
  });
});

describe('secrets', () => {
  it('appear in no process argument, no error and no file that others can read', async () => {
    const config = path.join(user.folder, 'config', 'config.json');
    const { profiles } = JSON.parse(await readFile(config, 'utf8'));
    const [{ session }] = Object.values<{ session: string }>(profiles) as [{ session: string }];
    const secrets = [session, user.privateKey.slice(2)];
    const child = spawn(process.execPath, [bin, 'login', service.url, '--key-file', user.keyFile], {
      env: { PATH: process.env.PATH, ...user.env },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    const cmdline = await readFile(`/proc/${child.pid}/cmdline`, 'utf8');
    const environ = await readFile(`/proc/${child.pid}/environ`, 'utf8');
    const failing = await user.svc(['robots', 'show', 'unknown', '--url', service.url]);
    await ended;

    for (const secret of secrets) {
      expect(cmdline + environ).not.toContain(secret);
      expect(failing.stdout + failing.stderr).not.toContain(secret);
      expect(service.logLines.join('\n')).not.toContain(secret);
    }
    const entries = await readdir(user.folder, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((found) => found.isFile())) {
      const file = path.join(entry.parentPath, entry.name);
      const text = await readFile(file, 'utf8');
      if (!secrets.some((secret) => text.includes(secret))) continue;
      expect([file, (await stat(file)).mode & 0o077]).toEqual([file, 0]);
    }
  });
});

describe('completion in bash', () => {
  /** What bash offers after the words, the last of them half typed. */
  async function offered(...words: string[]): Promise<string[]> {
    const script = `
      svc() { '${process.execPath}' '${bin}' "$@"; }
      source <(svc completion bash)
      COMP_WORDS=(svc "$@"); COMP_CWORD=$#
      _svc
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const child = spawn('bash', ['-c', script, 'bash', ...words], {
      env: { PATH: process.env.PATH, ...user.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    await once(child, 'close');
    return text.split('\n').filter(Boolean);
  }

  it('completes groups, commands, options and their values', async () => {
    expect(await offered('rob')).toEqual(['robots']);
    expect(await offered('robots', 'ro')).toEqual(['rotate-key']);
    expect(await offered('tasks', 'list', '--st')).toEqual(['--status']);
    expect(await offered('tasks', 'list', '--status', '')).toEqual(['claimed', 'verified']);
    expect(await offered('config', 'use', '')).toEqual([
      new URL(service.url).host.replace(':', '_'),
    ]);
  });

  it('completes robots and fleets by name, quoted for the shell', async () => {
    await user.svc(['robots', 'create', 'big robot; $(x)']);
    await user.svc(['fleets', 'create', 'Hall 3']);

    expect(await offered('robots', 'show', 'big')).toEqual(['big\\ robot\\;\\ \\$\\(x\\)']);
    expect(await offered('robots', 'move', 'arm', '--fleet', 'Ha')).toEqual(['Hall\\ 3']);
  });

  it('offers the id of a robot whose name would drive the terminal', async () => {
    const made = await user.json('robots', 'create', 'z\u202eevil');

    const all = await offered('robots', 'show', '');

    expect(all).toContain(made.robot.id);
    expect(all.join('\n')).not.toContain('\u202e');
  });
});

describe('start-up', () => {
  /** Whether a part of the bundle was read. */
  const reads = async (name: string, args: readonly string[]) => {
    const { stderr } = await user.spawnSvc(args, { env: { NODE_DEBUG: 'module' } });
    expect(stderr).toContain('/dist/cli/svc.cjs');
    return stderr.includes(`/dist/cli/${name}.cjs`);
  };

  it('loads the code for signatures only for commands that sign', async () => {
    const signing = ['login', service.url, '--key-file', user.keyFile];

    expect(await reads('curve', signing)).toBe(true);
    for (const args of [['--version'], ['robots', 'list'], ['whoami'], ['doctor'], ['chain']]) {
      expect(await reads('curve', args)).toBe(false);
    }
  });
});
