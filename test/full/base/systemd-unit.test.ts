import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentInstallation } from '../../../src/agent/installation.ts';
import { unitText } from '../../../src/base/install/systemd-unit.ts';
import { serverInstallation } from '../../../src/server/commands/start.ts';
import { needsProgram } from '../../support/require-program.ts';

const execute = promisify(execFile);

/** Text of what needs no systemd is held everywhere; systemd's own judgement where systemd is. */
describe.each([agentInstallation, serverInstallation])('the unit of $name', (installation) => {
  let folder: string;
  let file: string;
  // Only the account and Node.js must be on this machine for systemd to find nothing wrong.
  const text = unitText({
    ...installation,
    command: [process.execPath, '/usr/lib/100% ours/$HOME/"bin"/svc.js', installation.subcommand],
    user: 'daemon',
    inHome: false,
  });

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-unit-'));
    file = path.join(folder, `${installation.name}.service`);
    await writeFile(file, text);
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('has a watchdog, its folders and its credential, and restarts', () => {
    const { name, credential } = installation;
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'Type=notify',
        'NotifyAccess=all',
        expect.stringMatching(/^WatchdogSec=\d/),
        `StateDirectory=${name}`,
        `LoadCredential=${credential}:/etc/${name}/${credential}`,
        'Restart=always',
        'User=daemon',
      ]),
    );
  });

  it('allows V8 to compile and to read the boot id', () => {
    expect(text).not.toMatch(/MemoryDenyWriteExecute|ProcSubset/);
  });

  it('quotes the command as systemd reads it', () => {
    expect(text).toContain('"/usr/lib/100%% ours/$$HOME/\\"bin\\"/svc.js"');
  });

  it('is clean to systemd-analyze verify', async (context) => {
    const { stdout, stderr } = await execute(needsProgram(context, 'systemd-analyze'), [
      'verify',
      file,
    ]);

    // It answers 0 for what it ignores, too.
    expect(stdout + stderr).toBe('');
  });

  it('is exposed at most 2.0', async (context) => {
    const program = needsProgram(context, 'systemd-analyze');

    const args = ['security', '--offline=yes', '--threshold=20', file];
    const { stdout } = await execute(program, args, {
      env: { LC_ALL: 'C', PATH: process.env.PATH },
    });

    const level = /Overall exposure level .*: ([\d.]+)/.exec(stdout)?.[1];
    expect(Number(level)).toBeLessThanOrEqual(2);
  });
});
