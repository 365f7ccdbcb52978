import { realpathSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { agentInstallation } from '../../../src/agent/installation.ts';
import { installService, uninstallService } from '../../../src/base/install/service.ts';
import { serverInstallation } from '../../../src/server/commands/start.ts';
import { needsProgram } from '../../support/require-program.ts';

const { execPath } = process;

/** The tree of another system, into which systemd's own tools write. */
let root: string;

beforeEach(async (context) => {
  needsProgram(context, 'systemctl');
  needsProgram(context, 'systemd-sysusers');
  if (process.getuid?.() !== 0) {
    process.stderr.write(`${context.task.name}: NOT CHECKED: only root installs\n`);
    context.skip('only root installs');
  }
  root = await mkdtemp(path.join(tmpdir(), 'svc-root-'));
  await mkdir(path.join(root, 'etc'));
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', '/usr/bin/env']);
  // That of the tests may lie where no service can see it.
  process.execPath = '/usr/bin/env';
});

afterEach(async () => {
  process.execPath = execPath;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  if (root) await rm(root, { recursive: true, force: true });
});

const at = (file: string) => path.join(root, file);

/** What is there, or null. */
const read = (file: string) => readFile(at(file), 'utf8').catch(() => null);

const isThere = async (file: string) => (await lstat(at(file)).catch(() => null)) !== null;

describe.each([agentInstallation, serverInstallation])('$name', (installation) => {
  const { name } = installation;
  const unit = `etc/systemd/system/${name}.service`;
  const start = `etc/systemd/system/multi-user.target.wants/${name}.service`;
  const environment = `etc/${name}/environment`;

  it('is installed with its account, an environment readable by root only, and a start at boot', async () => {
    await installService(installation, {}, root);

    expect(await read('etc/passwd')).toContain(`${name}:x:`);
    expect(await read(unit)).toContain(`ExecStart="${realpathSync(process.execPath)}"`);
    expect(await isThere(start)).toBe(true);
    expect(await read(environment)).toBe(installation.environment);
    expect((await stat(at(environment))).mode & 0o777).toBe(0o600);
  });

  it('has a readable folder and unit even with a strict umask', async () => {
    const usual = process.umask(0o077);
    try {
      await installService(installation, {}, root);
    } finally {
      process.umask(usual);
    }

    const modes = [`etc/${name}`, unit, environment].map(
      async (file) => (await stat(at(file))).mode & 0o777,
    );
    expect(await Promise.all(modes)).toEqual([0o755, 0o644, 0o600]);
  });

  it('is refused on a machine without systemd, before anything is written', async () => {
    vi.stubEnv('PATH', at('etc'));

    await expect(installService(installation, {}, root)).rejects.toMatchObject({
      code: 'cannot_install',
      message: expect.stringContaining('no systemd'),
      hint: expect.stringContaining(`${name} ${installation.subcommand}`),
    });
    expect(await readdir(at('etc'))).toEqual([]);
  });

  it('is reinstalled and keeps its configuration', async () => {
    await installService(installation, {}, root);
    await writeFile(at(environment), 'SVC_LOG_LEVEL=debug\n');
    await writeFile(at(unit), 'of an earlier version');

    await installService(installation, {}, root);

    expect(await read(environment)).toBe('SVC_LOG_LEVEL=debug\n');
    expect(await read(unit)).toContain('Type=notify');
  });

  it('keeps its configuration and its account when it is uninstalled', async () => {
    await installService(installation, {}, root);

    await uninstallService(installation, root);

    expect([await isThere(unit), await isThere(start)]).toEqual([false, false]);
    expect(await read(environment)).toBe(installation.environment);
    expect(await read('etc/passwd')).toContain(`${name}:x:`);
    await expect(uninstallService(installation, root)).rejects.toMatchObject({
      code: 'cannot_install',
    });
  });

  it('writes nothing in a dry run', async () => {
    await installService(installation, { dryRun: true }, root);

    expect(await readdir(at('etc'))).toEqual([]);
  });

  it('is refused for an unknown account, before anything is written', async () => {
    const installing = installService(installation, { user: 'no-such-account' }, root);

    await expect(installing).rejects.toMatchObject({ code: 'cannot_install' });
    expect(await readdir(at('etc'))).toEqual([]);
  });

  it('is refused if a service cannot access the program', async () => {
    const closed = at('closed');
    await mkdir(closed, { mode: 0o700 });
    await writeFile(path.join(closed, 'svc.js'), '');
    vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', path.join(closed, 'svc.js')]);

    await expect(installService(installation, {}, root)).rejects.toMatchObject({
      code: 'cannot_install',
      message: expect.stringContaining(`${closed} is closed`),
    });
  });

  it('names the tool that failed, and the reason', async () => {
    // systemd-sysusers refuses a list of accounts that it cannot read.
    await mkdir(at('etc/passwd'));

    await expect(installService(installation, {}, root)).rejects.toMatchObject({
      code: 'cannot_install',
      message: expect.stringContaining('systemd-sysusers'),
    });
  });
});
