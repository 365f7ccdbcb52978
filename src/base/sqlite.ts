// Loads better-sqlite3 when it is first needed, opens databases with it, and classifies errors of SQLite.
import { createRequire } from 'node:module';
import type Sqlite from 'better-sqlite3';
import type { Database, Options } from 'better-sqlite3';
import { SvcError } from './svc-error.ts';

/** Loads better-sqlite3. What opens no database runs without it. @throws SvcError `native_module_unusable` */
export function loadSqlite(): typeof Sqlite {
  try {
    return createRequire(import.meta.url)('better-sqlite3');
  } catch (error) {
    throw nativeModuleError(error) ?? error;
  }
}

/** @throws SvcError `native_module_unusable`; SqliteError if the file cannot be opened */
export function openSqlite(file: string, options: Options = {}): Database {
  const Connection = loadSqlite();
  try {
    return new Connection(file, options);
  } catch (error) {
    throw nativeModuleError(error) ?? error;
  }
}

const OFFLINE =
  'Without access to github.com and nodejs.org, set npm_config_nodedir first (docs/operations.md#installation).';

/**
 * The error for a better-sqlite3 that is not installed, not compiled, or compiled for another Node.js; null for any
 * other error.
 */
export function nativeModuleError(error: unknown): SvcError | null {
  if (!(error instanceof Error)) return null;
  const code = 'code' in error ? error.code : undefined;
  const isMissing = error.message.startsWith('Could not locate the bindings file');
  if (code === 'MODULE_NOT_FOUND') {
    return new SvcError('native_module_unusable', 'The package better-sqlite3 is not installed.', {
      hint: `Run npm install better-sqlite3@12.11.1 in the project where robot-svc is installed, and let npm run its install script. ${OFFLINE}`,
      cause: error,
    });
  }
  if (!isMissing && code !== 'ERR_DLOPEN_FAILED') return null;
  const state = isMissing ? 'is not compiled' : 'does not load in this Node.js';
  return new SvcError('native_module_unusable', `The native module better-sqlite3 ${state}.`, {
    hint: `Run npm rebuild better-sqlite3 in the project where robot-svc is installed; if npm refuses its script, run npm install-scripts approve better-sqlite3 first. ${OFFLINE}`,
    cause: error,
  });
}

/** `null` if it is no error of SQLite. */
export function sqliteErrorKind(error: unknown) {
  if (!isSqliteError(error)) return null;
  const { code } = error;
  // Another process holds the lock. A retry can succeed.
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return 'busy';
  // No room on the disk.
  if (code === 'SQLITE_FULL') return 'full';
  // The content of the file is wrong.
  if (/^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(code)) return 'damaged';
  // The disk failed.
  if (code.startsWith('SQLITE_IOERR')) return 'io';
  // A constraint of the schema was violated: a bug in this process.
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  return 'other';
}

/** By name: without better-sqlite3 there is no class to compare with. */
export function isSqliteError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && error.name === 'SqliteError' && 'code' in error;
}
