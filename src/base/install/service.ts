// Installs a program as a systemd service, with its account and folders.
import { execFile } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { SvcError } from '../svc-error.ts';
import { configFolder, type SystemdService, unitText } from './systemd-unit.ts';

const execute = promisify(execFile);

/** The description of one of our programs for `install`. */
export interface Installation extends Omit<SystemdService, 'command' | 'user' | 'inHome'> {
  /** The subcommand that runs the service. */
  subcommand: string;
  /** Initial content of the file /etc/NAME/environment; an existing file is kept. */
  environment: string;
  /** The remaining manual steps, one line each. */
  nextSteps: readonly string[];
}

export interface InstallOptions {
  /** An existing account. Default: a system account with the service's name, created if it does not exist. */
  user?: string;
  /** Print what would be written and run, without doing it. */
  dryRun?: boolean;
}

interface Plan {
  files: { path: string; text: string; mode: number; keep?: true }[];
  commands: ToolCall[];
}

type ToolCall = readonly [program: string, ...args: string[]];

const reloadUnits: ToolCall = ['systemctl', 'daemon-reload'];

/**
 * Installs the program as a systemd service that starts with the machine. A running service is restarted in the new
 * version; a stopped one is not started. `root`: the file tree of another system, such as an image.
 */
export async function installService(
  installation: Installation,
  { user, dryRun = false }: InstallOptions,
  root = '/',
): Promise<void> {
  const [node, program] = [realpathSync(process.execPath), realpathSync(process.argv[1] ?? '')];
  const plan = planOf(installation, [node, program], { user, root });
  const hidden = hiddenFrom([node, program]);
  if (dryRun) {
    process.stdout.write(describe(plan));
    if (hidden !== null) process.stderr.write(`${installation.name}: ${hidden.message}\n`);
    return;
  }
  if (hidden !== null) throw hidden;
  refuseOthers();
  await runTool(['systemctl', '--version'], {
    failure: 'This machine has no systemd: the program systemctl was not found.',
    hint: `Run ${installation.name} ${installation.subcommand} under the supervisor of this machine.`,
  });
  if (user !== undefined) {
    await runTool(['id', '-u', '--', user], {
      failure: `--user: there is no account ${user}.`,
      hint: 'Create the account, or leave out --user to create a system account.',
    });
  }
  for (const file of plan.files) await place(path.join(root, file.path), file);
  for (const command of plan.commands) await runTool(command);
  process.stdout.write(`${installation.name} is installed. Next:\n`);
  for (const step of installation.nextSteps) process.stdout.write(`  ${step}\n`);
}

/** Stops the service and removes its unit; its data, configuration and account stay. */
export async function uninstallService(
  { name }: Pick<Installation, 'name'>,
  root = '/',
): Promise<void> {
  const unit = path.join(root, unitPath(name));
  if (!existsSync(unit)) throw cannotInstall(`${name} is not installed: ${unit} does not exist.`);
  refuseOthers();
  const now = isBooted(root) ? ['--now'] : [];
  await runTool(['systemctl', ...rootOption(root), 'disable', ...now, `${name}.service`]);
  await rm(unit);
  await rm(path.join(root, accountPath(name)), { force: true });
  if (isBooted(root)) await runTool(reloadUnits);
  process.stdout.write(
    `${name} is uninstalled. /var/lib/${name}, ${configFolder({ name })} and its account are kept.\n`,
  );
}

export function unitPath(name: string): string {
  return `/etc/systemd/system/${name}.service`;
}

function planOf(
  installation: Installation,
  programs: readonly string[],
  { user, root }: { user: string | undefined; root: string },
): Plan {
  const { name, subcommand, environment } = installation;
  const unit = unitText({
    ...installation,
    command: [...programs, subcommand],
    user: user ?? name,
    inHome: programs.some((file) => /^\/(home|root|run\/user)\//.test(file)),
  });
  const account = { path: accountPath(name), text: `u ${name} - "${name}"\n`, mode: 0o644 };
  const makeAccount: ToolCall = [
    'systemd-sysusers',
    ...rootOption(root),
    path.basename(account.path),
  ];
  const restart: ToolCall = ['systemctl', 'try-restart', `${name}.service`];
  return {
    files: [
      ...(user === undefined ? [account] : []),
      {
        path: `${configFolder(installation)}/environment`,
        text: environment,
        mode: 0o600,
        keep: true,
      },
      { path: unitPath(name), text: unit, mode: 0o644 },
    ],
    commands: [
      ...(user === undefined ? [makeAccount] : []),
      ...(isBooted(root) ? [reloadUnits] : []),
      ['systemctl', ...rootOption(root), 'enable', `${name}.service`],
      ...(isBooted(root) ? [restart] : []),
    ],
  };
}

/** The account's file; see sysusers.d(5). */
function accountPath(name: string): string {
  return `/etc/sysusers.d/${name}.conf`;
}

function rootOption(root: string): string[] {
  return root === '/' ? [] : [`--root=${root}`];
}

/** Whether systemd runs this system; see sd_booted(3). */
function isBooted(root: string): boolean {
  return root === '/' && existsSync('/run/systemd/system');
}

function describe({ files, commands }: Plan): string {
  const shown = files.map(({ path: file, text, keep }) => {
    const kept = keep ? ' (an existing file is kept)' : '';
    return `# ${file}${kept}\n${text}\n`;
  });
  return [...shown, '# Commands\n', ...commands.map((words) => `${words.join(' ')}\n`)].join('');
}

/** Writes a file atomically. The umask of the caller does not count: accounts of services must reach the folder. */
async function place(target: string, { text, mode, keep }: Plan['files'][number]): Promise<void> {
  if (keep && existsSync(target)) return;
  try {
    await makeFolder(path.dirname(target));
    const fresh = `${target}.new`;
    await writeFile(fresh, text, { mode, flush: true });
    await chmod(fresh, mode);
    await rename(fresh, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw cannotInstall(`Cannot write ${target} (${code}).`, undefined, error);
  }
}

async function makeFolder(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  await makeFolder(path.dirname(folder));
  await mkdir(folder);
  await chmod(folder, 0o755);
}

/** `refusal`: what a failure means, if it is no fault of the tool. */
async function runTool(
  [program, ...args]: ToolCall,
  refusal?: { failure: string; hint: string },
): Promise<void> {
  try {
    await execute(program, args);
  } catch (error) {
    if (refusal) throw cannotInstall(refusal.failure, refusal.hint, error);
    const { stderr = '', code } = error as { stderr?: string; code?: string | number };
    const why = stderr.trim() || `code ${code}`;
    throw cannotInstall(`${[program, ...args].join(' ')} failed: ${why}`, undefined, error);
  }
}

function refuseOthers(): void {
  if (process.getuid?.() === 0) return;
  throw cannotInstall('Only root can install or uninstall a service.', 'Run this with sudo.');
}

/** The error for files that the service could not read; null if it can read them all. */
function hiddenFrom(files: readonly string[]): SvcError | null {
  for (const file of files) {
    for (let at = file; at !== '/'; at = path.dirname(at)) {
      const closed = (statSync(at).mode & 0o005) === 0;
      if (!closed && at !== '/tmp' && at !== '/var/tmp') continue;
      return cannotInstall(
        `The service cannot read ${file}: ${at} is closed to other users.`,
        'Install Node.js and robot-svc for all users, for example below /usr or /opt.',
      );
    }
  }
  return null;
}

function cannotInstall(message: string, hint?: string, cause?: unknown): SvcError {
  return new SvcError('cannot_install', message, { hint, cause });
}
