// The robot's API key: where it is, and whether the agent may use it.
import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { SvcError } from '../base/svc-error.ts';

export type KeySource =
  /** `credential`: systemd made the file for this service alone. */
  { readonly file: string; readonly credential?: true } | { readonly key: string };

const KEY = /^svc_[0-9a-f]{40}$/;

/** A key and a line end are shorter. Bytes. */
const MOST_BYTES = 64;

/**
 * Reads the key on each call, so that a replaced file takes effect.
 * @throws SvcError `key_unusable` if the file cannot be read, holds no key, or other users can read it
 */
export async function readKey(source: KeySource): Promise<string> {
  if ('key' in source) return source.key;
  const { file, credential } = source;
  const name = `${credential ? 'systemd credential' : 'SVC_AGENT_KEY_FILE'} ${file}`;
  // systemd may grant access through the file's ACL, which shows in the bits of the group.
  const text = (await readPrivateFile(file, name, credential ? 0o007 : 0o077)).trim();
  if (isKey(text)) return text;
  throw unusable(
    `${name} holds no API key (svc_ and 40 lowercase hex digits)`,
    'Write the key with svc-agent key set.',
  );
}

/** `foreign`: mode bits that must not be set. */
async function readPrivateFile(file: string, name: string, foreign: number): Promise<string> {
  try {
    const handle = await open(file);
    try {
      const { mode } = await handle.stat();
      if ((mode & foreign) !== 0) {
        throw unusable(
          `${name} can be read by others (mode ${(mode & 0o777).toString(8)})`,
          `Run chmod 600 ${file}, and rotate the key if others may have seen it.`,
        );
      }
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof SvcError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw unusable(`${name} cannot be read (${code})`, 'Write it with svc-agent key set.', error);
  }
}

function unusable(problem: string, hint: string, cause?: unknown): SvcError {
  return new SvcError('key_unusable', `${problem}.`, {
    hint,
    ...(cause === undefined ? {} : { cause }),
  });
}

export function isKey(text: string): boolean {
  return KEY.test(text);
}

/** First 8 hex digits of the key's SHA-256, as the service shows them. */
export function keyHint(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

/** Changes when the key file is replaced, written or gets other permissions. */
export async function keyVersion(source: KeySource): Promise<string> {
  if ('key' in source) return '';
  try {
    const { ino, mtimeMs, ctimeMs, size } = await stat(source.file);
    return `${ino} ${mtimeMs} ${ctimeMs} ${size}`;
  } catch {
    return 'absent';
  }
}
