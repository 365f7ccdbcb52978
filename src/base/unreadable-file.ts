// The error for a file that cannot be read.
import { SvcError } from './svc-error.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

/** The error for a file, named by the user, that cannot be read. `error` is the system's. */
export function unreadableFile(file: string, error: unknown): SvcError {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return new SvcError('usage', `Cannot read ${file}: ${reasons[code] ?? code}.`);
}
