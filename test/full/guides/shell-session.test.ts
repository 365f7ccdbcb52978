import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openShell, type ShellSession } from '../../support/shell-session.ts';

let folder: string;
let shell: ShellSession;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-shell-'));
  const env = { PATH: process.env.PATH ?? '' };
  shell = await openShell({ cwd: folder, folder, env, before: '' });
});

afterEach(async () => {
  await shell.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a shell', () => {
  it('keeps folder and variables from one block to the next, and provides a terminal', async () => {
    await shell.run('mkdir deep && cd deep\nname=arm-1');

    expect(await shell.run('basename "$PWD"; echo "$name"; [ -t 1 ] && echo terminal')).toBe(
      'deep\narm-1\nterminal\n',
    );
  });

  it('stops at the first command that fails, and reports the output', async () => {
    const failed = shell.run('echo before\nfalse\necho after');

    await expect(failed).rejects.toThrow(/before\n/);
    await expect(failed).rejects.not.toThrow(/after/);
  });

  it.each([
    ['in the background', 'sleep 1000 &'],
    ['deaf to signals', 'bash -c \'trap "" TERM HUP; while :; do sleep 1; done\' &'],
  ])('leaves no process behind %s, even if a command failed', async (_, command) => {
    await shell.run(command);
    await expect(shell.run('false')).rejects.toThrow();

    await shell.close();

    expect(() => process.kill(-shell.group, 0)).toThrow('ESRCH');
  });
});
