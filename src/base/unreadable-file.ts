// The error for a file that cannot be read.
import { SvcError } from './svc-error.ts';

/** The error for a file, named by the user, that cannot be read. `error` is the system's. */
export function unreadableFile(file: string, error: unknown): SvcError {
  const { code } = error as NodeJS.ErrnoException;
  const reason = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
  return new SvcError('usage', `${file}: ${reason}`);
}
