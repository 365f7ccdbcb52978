import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Packages of Debian and Ubuntu. */
const packages = { python3: 'python3', curl: 'curl', 'systemd-notify': 'systemd', sh: 'dash' };

/** Where the program is. Throws what to install where it is not, so that no test passes without it. */
export function requireProgram(name: keyof typeof packages): string {
  const found = findProgram(name);
  if (found !== null) return found;
  throw new Error(`This test runs ${name}, which is not here: apt-get install ${packages[name]}`);
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
