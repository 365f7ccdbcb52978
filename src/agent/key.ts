// The robot's API key: where it is, and whether the agent may use it.
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { readPrivateFile } from '../base/private-file.ts';
import { SvcError } from '../base/svc-error.ts';

export type KeySource =
  /** `credential`: systemd made the file for this service alone. */
  { readonly file: string; readonly credential?: true } | { readonly key: string };

const KEY = /^svc_[0-9a-f]{40}$/;

/**
 * Reads the key on each call, so that a replaced file takes effect.
 * @throws SvcError `key_unusable` if the file cannot be read, holds no key, or other users can read it
 */
export async function readKey(source: KeySource): Promise<string> {
  if ('key' in source) return source.key;
  const { file, credential } = source;
  const name = credential ? 'systemd credential' : 'SVC_AGENT_KEY_FILE';
  const text = (await readPrivateFile(file, name, 'key_unusable')).trim();
  if (isKey(text)) return text;
  const message = `${name} ${file} holds no API key (svc_ and 40 lowercase hex digits).`;
  throw new SvcError('key_unusable', message, { hint: 'Write the key with svc-agent key set.' });
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
