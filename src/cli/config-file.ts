import { chmodSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import Conf from 'conf';
import { SvcError } from '../base/svc-error.ts';

/** One service and one wallet. */
export interface Profile {
  /** Origin of the service. */
  url: string;
  wallet: string;
  /** Session token and its end; null once signed out. */
  session: string | null;
  expires_at: string | null;
}

interface Config {
  /** Name of the profile that is used where none is named. */
  current: string | null;
  profiles: Record<string, Profile>;
}

export interface ConfigFile {
  readonly path: string;
  read(): Config;
  /** Durable when it returns: written beside and renamed, readable by nobody else. */
  write(config: Config): void;
}

const EMPTY: Config = { current: null, profiles: {} };

/**
 * The file that keeps profiles and their sessions, in `SVC_CONFIG_DIR` or the platform's folder. A
 * damaged one is set aside, and `warn` told. Throws SvcError `config_unusable`.
 */
export function openConfigFile(env: NodeJS.ProcessEnv, warn: (text: string) => void): ConfigFile {
  const file = usable(() => {
    const opened = new Conf<Partial<Config>>({
      projectName: 'svc',
      projectSuffix: '',
      ...(env.SVC_CONFIG_DIR ? { cwd: path.resolve(env.SVC_CONFIG_DIR) } : {}),
      configFileMode: 0o600,
      // A service's address has dots in it.
      accessPropertiesByDotNotation: false,
      // It would throw before its path is known; nothing is cleared before it was set aside here.
      clearInvalidConfig: true,
    });
    if (existsSync(opened.path)) protect(opened.path, warn);
    return opened;
  });
  return {
    path: file.path,
    read: () => usable(() => ({ ...EMPTY, ...file.store })),
    write(config) {
      usable(() => {
        file.store = { ...config };
      });
    },
  };
}

/** Nobody else reads it, and what is no configuration is out of the way. */
function protect(file: string, warn: (text: string) => void): void {
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  if (isConfig(parse(readFileSync(file, 'utf8')))) return;
  const aside = `${file}.damaged-${Date.now()}`;
  renameSync(file, aside);
  warn(
    `The configuration was damaged. It was set aside as ${aside}; sign in again with svc login.`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isConfig(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { current = null, profiles = {} } = value as Record<string, unknown>;
  if (current !== null && typeof current !== 'string') return false;
  if (typeof profiles !== 'object' || profiles === null || Array.isArray(profiles)) return false;
  return Object.values(profiles).every(isProfile);
}

function isProfile(value: unknown): value is Profile {
  const { url, wallet, session, expires_at } = (value ?? {}) as Record<string, unknown>;
  const isText = (text: unknown) => typeof text === 'string';
  return (
    isText(url) &&
    isText(wallet) &&
    (session === null || isText(session)) &&
    (expires_at === null || isText(expires_at))
  );
}

function usable<Result>(use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    const { code, path: place } = error as NodeJS.ErrnoException;
    if (code === undefined || place === undefined) throw error;
    throw new SvcError('config_unusable', `The configuration ${place} cannot be used (${code}).`, {
      hint: 'SVC_CONFIG_DIR names another folder for it.',
    });
  }
}
