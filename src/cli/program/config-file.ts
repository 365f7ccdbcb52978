// The configuration file: profiles and their sessions, shared by concurrent `svc` programs.
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import envPaths from 'env-paths';
import { SvcError } from '../../base/svc-error.ts';

/** One service and one wallet. */
export interface Profile {
  /** Origin of the service. */
  url: string;
  wallet: string;
  /** Session token and its end; null once signed out. */
  session: string | null;
  expires_at: string | null;
}

export interface Config {
  /** Name of the profile that is used if the command line names none. */
  current: string | null;
  profiles: Record<string, Profile>;
}

export interface ConfigFile {
  readonly path: string;
  read(): Config;
  /**
   * Replaces the configuration with `change` of its current content. A lock file orders concurrent programs. Durable
   * on resolve: written to a second file, which is renamed and readable by its owner only.
   */
  update(change: (config: Config) => Config): Promise<void>;
}

const EMPTY: Config = { current: null, profiles: {} };

/**
 * Opens the configuration in `SVC_CONFIG_DIR` or the platform's folder. A damaged file is set aside with a warning.
 * Throws SvcError `config_unusable`.
 */
export function openConfigFile(env: NodeJS.ProcessEnv, warn: (text: string) => void): ConfigFile {
  const folder = env.SVC_CONFIG_DIR
    ? path.resolve(env.SVC_CONFIG_DIR)
    : envPaths('svc', { suffix: '' }).config;
  const file = path.join(folder, 'config.json');
  return {
    path: file,
    read: () => usable(() => readConfig(file, warn)),
    async update(change) {
      const { default: Conf } = await import('conf');
      usable(() => mkdirSync(folder, { recursive: true }));
      await whileLocked(`${file}.lock`, usable, () => {
        const config = change(readConfig(file, warn));
        const opened = new Conf<Partial<Config>>({
          projectName: 'svc',
          cwd: folder,
          configFileMode: 0o600,
          // Names of profiles, which are hosts, have dots in them.
          accessPropertiesByDotNotation: false,
        });
        opened.store = { ...config };
      });
    },
  };
}

/** Reads the file, makes it private to its owner, and sets it aside if it is not a configuration. */
function readConfig(file: string, warn: (text: string) => void): Config {
  if (!existsSync(file)) return EMPTY;
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  const found = parse(readFileSync(file, 'utf8'));
  if (isConfig(found)) return { ...EMPTY, ...found };
  const aside = `${file}.damaged-${Date.now()}`;
  renameSync(file, aside);
  warn(
    `The configuration file was damaged. It was set aside as ${aside}; sign in again with svc login.`,
  );
  return EMPTY;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isConfig(value: unknown): value is Partial<Config> {
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
    throw new SvcError('config_unusable', `Cannot use the configuration file ${place} (${code}).`, {
      hint: 'Set SVC_CONFIG_DIR to a folder that you can write.',
    });
  }
}

const RETRY_MS = 20;
/** A lock this old was left by a program that was killed: `work` never waits. */
const ABANDONED_MS = 10_000;

/** Runs the synchronous `work` under the lock file. `attempt` wraps every access to the disk. */
async function whileLocked(
  file: string,
  attempt: <Result>(use: () => Result) => Result,
  work: () => void,
): Promise<void> {
  while (!attempt(() => take(file))) await sleep(RETRY_MS);
  try {
    attempt(work);
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const held = statSync(file, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs > ABANDONED_MS) rmSync(file, { force: true });
  return false;
}
