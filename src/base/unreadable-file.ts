// The error for a file that cannot be read.
import { SvcError } from './svc-error.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

/** The error for a file, named by the user, that cannot be read. `error` is the system's. */
export function unreadableFile(file: string, error: unknown, code = 'usage'): SvcError {
  const { code: reason = 'unknown' } = error as NodeJS.ErrnoException;
  return new SvcError(code, `Cannot read ${file}: ${reasons[reason] ?? reason}.`);
}
