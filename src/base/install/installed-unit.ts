// Reads the unit and the environment file of an installed service.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { type Installation, unitPath } from './service.ts';

/** Absolute paths in the unit that `install` wrote. */
export interface InstalledUnit {
  /** Environment file of the service. */
  readonly environmentFile: string;
  /** File that systemd copies the credential from whenever the service starts. */
  readonly keyFile: string;
}

/** The installed unit; null if there is none. `root`: the root folder, for images of other systems. */
export async function readInstalledUnit(
  { name, credential }: Pick<Installation, 'name' | 'credential'>,
  root = '/',
): Promise<InstalledUnit | null> {
  const text = await readIfThere(path.join(root, unitPath(name)));
  const environmentFile = /^EnvironmentFile=-?(.+)$/m.exec(text)?.[1];
  const keyFile = new RegExp(`^LoadCredential=${credential}:(.+)$`, 'm').exec(text)?.[1];
  if (environmentFile === undefined || keyFile === undefined) return null;
  return { environmentFile: path.join(root, environmentFile), keyFile: path.join(root, keyFile) };
}

/**
 * The variables of the unit's environment file; none if it does not exist. Credentials are named by the files that
 * systemd copies them from, because the copies exist only while the service runs.
 */
export async function readUnitEnvironment({
  environmentFile,
  keyFile,
}: InstalledUnit): Promise<NodeJS.ProcessEnv> {
  const folder = path.dirname(keyFile);
  const copies = `/run/credentials/${path.basename(folder)}.service/`;
  return parseEnv((await readIfThere(environmentFile)).replaceAll(copies, `${folder}/`));
}

async function readIfThere(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}
