import { accessSync, constants } from 'node:fs';
import path from 'node:path';

import type { TestContext } from 'vitest';

/** Packages of Debian and Ubuntu with what the service needs neither to be built nor to run. */
const packages = {
  curl: 'curl',
  nginx: 'nginx libnginx-mod-stream',
  openssl: 'openssl',
  python3: 'python3',
  'python3-build': 'python3-build python3-venv python3-setuptools python3-wheel',
  mypy: 'mypy',
  pgbouncer: 'pgbouncer',
  promtool: 'prometheus',
  'systemd-notify': 'systemd',
  'systemd-analyze': 'systemd',
  systemctl: 'systemd',
  'systemd-sysusers': 'systemd',
};

/** Where the program is. Skips the test, and says so on standard error too, where it is not. */
export function needsProgram(
  context: Pick<TestContext, 'task' | 'skip'>,
  name: keyof typeof packages,
): string {
  const found = findProgram(name);
  if (found !== null) return found;
  return isMissing(context, name);
}

/** Skips the test, and says why, where the program is not, or not all of it. */
export function isMissing(
  context: Pick<TestContext, 'task' | 'skip'>,
  name: keyof typeof packages,
): never {
  const reason = `NOT CHECKED: ${name} is not on this machine (apt-get install ${packages[name]})`;
  process.stderr.write(`${context.task.name}: ${reason}\n`);
  return context.skip(reason);
}

/** Where the program is, which a machine that builds native modules has. */
export function requireProgram(name: 'python3' | 'sh'): string {
  const found = findProgram(name);
  if (found === null) throw new Error(`This test runs ${name}, which is not here.`);
  return found;
}

/** Where the program is; null where it is not. */
export function findProgram(name: string): string | null {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
