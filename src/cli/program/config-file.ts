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
  /** Name of the profile that is used where none is named. */
  current: string | null;
  profiles: Record<string, Profile>;
}

export interface ConfigFile {
  readonly path: string;
  read(): Config;
  /**
   * What `change` makes of what is there then; two programs at once change it one after the other. Durable when
   * it resolves: written beside and renamed, readable by nobody else.
   */
  update(change: (config: Config) => Config): Promise<void>;
}

const EMPTY: Config = { current: null, profiles: {} };

/**
 * The file that keeps profiles and their sessions, in `SVC_CONFIG_DIR` or the platform's folder. A
 * damaged one is set aside, and `warn` told. Throws SvcError `config_unusable`.
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
          // A service's address has dots in it.
          accessPropertiesByDotNotation: false,
        });
        opened.store = { ...config };
      });
    },
  };
}

/** Nobody else may read it afterwards, and what is no configuration is out of the way. */
function readConfig(file: string, warn: (text: string) => void): Config {
  if (!existsSync(file)) return EMPTY;
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  const found = parse(readFileSync(file, 'utf8'));
  if (isConfig(found)) return { ...EMPTY, ...found };
  const aside = `${file}.damaged-${Date.now()}`;
  renameSync(file, aside);
  warn(
    `The configuration was damaged. It was set aside as ${aside}; sign in again with svc login.`,
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
    throw new SvcError('config_unusable', `The configuration ${place} cannot be used (${code}).`, {
      hint: 'SVC_CONFIG_DIR names another folder for it.',
    });
  }
}

const RETRY_MS = 20;
/** Nobody holds a lock over anything that waits: one as old as this was left by a program that was killed. */
const ABANDONED_MS = 10_000;

/** Runs `work`, which does not wait, while no other program holds the file; `attempt` runs what touches the disk. */
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
