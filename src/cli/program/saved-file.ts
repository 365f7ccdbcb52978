// A JSON file in the CLI's configuration folder, shared by concurrent `svc` programs.
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
import { orNull } from '../../base/or-null.ts';
import { SvcError } from '../../base/svc-error.ts';

interface FileKind<Content> {
  /** Name of the file without `.json`. */
  name: string;
  /** The content before the first update. */
  empty: Content;
  isValid(found: unknown): found is Partial<Content>;
  /** A warning that the damaged file was set aside as `aside`. */
  damaged(aside: string): string;
}

/**
 * Opens a file in `SVC_CONFIG_DIR` or the platform's folder. A damaged file is set aside with a warning. Throws
 * SvcError `config_unusable`.
 */
export function openSavedFile<Content extends object>(
  env: NodeJS.ProcessEnv,
  kind: FileKind<Content>,
  warn: (text: string) => void,
) {
  const folder = env.SVC_CONFIG_DIR
    ? path.resolve(env.SVC_CONFIG_DIR)
    : envPaths('svc', { suffix: '' }).config;
  const file = path.join(folder, `${kind.name}.json`);
  return {
    path: file,
    read: () => usable(() => readContent(file, kind, warn)),
    /**
     * Replaces the content with `change` of its current content. A lock file orders concurrent programs. Durable on
     * resolve: written to a second file, which is renamed and readable by its owner only. `conf` only writes: it takes
     * as long to load as all else that most commands load, and refuses a damaged file.
     */
    async update(change: (content: Content) => Content) {
      const { default: Conf } = await import('conf');
      usable(() => mkdirSync(folder, { recursive: true, mode: 0o700 }));
      await whileLocked(`${file}.lock`, () => {
        const content = change(readContent(file, kind, warn));
        const opened = new Conf<Partial<Content>>({
          projectName: 'svc',
          cwd: folder,
          configName: kind.name,
          configFileMode: 0o600,
          // Names of profiles, which are hosts, have dots in them.
          accessPropertiesByDotNotation: false,
        });
        opened.store = { ...content };
      });
    },
  };
}

/** Reads the file, makes it private to its owner, and sets it aside if its content is not valid. */
function readContent<Content>(
  file: string,
  { empty, isValid, damaged }: FileKind<Content>,
  warn: (text: string) => void,
): Content {
  if (!existsSync(file)) return empty;
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  const found: unknown = orNull(() => JSON.parse(readFileSync(file, 'utf8')), [SyntaxError]);
  if (isValid(found)) return { ...empty, ...found };
  const aside = `${file}.damaged-${Date.now()}`;
  renameSync(file, aside);
  warn(damaged(aside));
  return empty;
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

/** Runs the synchronous `work` under the lock file. */
async function whileLocked(file: string, work: () => void): Promise<void> {
  while (!usable(() => take(file))) await sleep(RETRY_MS);
  try {
    usable(work);
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
