// Explains why better-sqlite3's native module cannot be loaded.
import { SvcError } from './svc-error.ts';

/**
 * The error for a native module of better-sqlite3 that is missing or was compiled for another Node.js; null for any
 * other error.
 */
export function nativeModuleError(error: unknown): SvcError | null {
  if (!(error instanceof Error)) return null;
  const isMissing = error.message.startsWith('Could not locate the bindings file');
  const isForeign = 'code' in error && error.code === 'ERR_DLOPEN_FAILED';
  if (!isMissing && !isForeign) return null;
  const state = isMissing ? 'is not compiled' : 'does not load in this Node.js';
  return new SvcError('native_module_unusable', `The native module better-sqlite3 ${state}.`, {
    hint: 'Run npm rebuild better-sqlite3 in the folder of robot-svc; if npm refuses its script, run npm install-scripts approve better-sqlite3 first.',
    cause: error,
  });
}
