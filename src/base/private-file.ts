// Keeps secrets and data from other users of the machine.
import { chmodSync, closeSync, openSync, type Stats, statSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { syncFolderOf } from './durable-folder.ts';
import { SvcError, unreadableFile } from './svc-error.ts';

/**
 * Reads a file with a secret. `name` is the variable or option that names the file. Reads it once: a pipe, such as
 * `<(…)`, can be read only once. Rejects with SvcError of `code` if the file cannot be read, or has one of the mode bits
 * `foreign`.
 */
export async function readPrivateFile(
  file: string,
  name: string,
  code: string,
  foreign = 0o077,
): Promise<string> {
  const handle = await open(file).catch((error: unknown) => {
    throw unreadableFile(`${name} ${file}`, error, code);
  });
  try {
    const found = await handle.stat();
    if ((found.mode & foreign) !== 0 && !isGuarded(file, found)) {
      const shown = (found.mode & 0o777).toString(8);
      throw new SvcError(code, `${name} ${file} can be read by others (mode ${shown}).`, {
        hint: `${repairOf(file, found, foreign)}, and replace its secret if others may have seen it.`,
      });
    }
    return await handle.readFile('utf8');
  } catch (error) {
    throw error instanceof SvcError ? error : unreadableFile(`${name} ${file}`, error, code);
  } finally {
    await handle.close();
  }
}

/**
 * Reads a token of at least 16 printable characters, as `readPrivateFile`.
 * @throws SvcError `key_unusable`
 */
export async function readToken(file: string, name: string, foreign?: number): Promise<string> {
  const token = (await readPrivateFile(file, name, 'key_unusable', foreign)).trim();
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  const message = `${name} ${file} holds no token of at least 16 printable characters.`;
  throw new SvcError('key_unusable', message, {
    hint: `Write one: openssl rand -hex 32 > ${file}`,
  });
}

/** The account that reads the file must own it, because no other account can read a file of mode 600. */
function repairOf(file: string, { uid }: Stats, foreign: number): string {
  const chmod = `chmod ${(0o666 & ~foreign).toString(8)} ${file}`;
  const isOwner = uid === process.getuid?.();
  return isOwner
    ? `Run ${chmod}`
    : `Run chown ${process.getuid?.()} ${file} and ${chmod} as its owner`;
}

/** systemd and container engines guard these folders, and may show the access of one account in the bits of others. */
function isGuarded(file: string, found: Stats): boolean {
  if (process.platform === 'win32' || !found.isFile()) return true;
  const folders = ['/run/secrets', '/var/run/secrets', process.env.CREDENTIALS_DIRECTORY];
  return folders.some(
    (folder) => folder && path.resolve(file).startsWith(`${path.resolve(folder)}/`),
  );
}

/**
 * Replaces a file with a secret, or creates it. After a crash it holds the old secret or the new one. Only its owner, who
 * stays the same, can read it. Throws the system's error.
 */
export async function replacePrivateFile(file: string, content: string): Promise<void> {
  const temporary = `${file}.${process.pid}`;
  try {
    const former = await stat(file).catch(() => null);
    await writeDurably(temporary, content, former);
    await rename(temporary, file);
    syncFolderOf(file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeDurably(file: string, content: string, owner: Stats | null): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    // Only root can change the owner. The daemon must be able to read the file.
    if (owner !== null && process.geteuid?.() === 0) await handle.chown(owner.uid, owner.gid);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Creates an SQLite file if it is missing, and makes it and its logs private to its owner, whatever the umask. SQLite
 * creates the logs with the mode of the file. Opens no file that exists: closing it would release SQLite's locks on it.
 */
export function keepPrivate(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) {
    const found = statSync(`${file}${suffix}`, { throwIfNoEntry: false });
    if (found === undefined && suffix === '') closeSync(openSync(file, 'a', 0o600));
    if (found === undefined || (found.mode & 0o077) === 0) continue;
    try {
      chmodSync(`${file}${suffix}`, 0o600);
    } catch (cause) {
      const message = `${file}${suffix} can be read by others, and its mode cannot be changed.`;
      throw new SvcError('file_not_private', message, {
        hint: 'Give the file to this account with chown, or move it to a file system that has modes.',
        cause,
      });
    }
  }
}
