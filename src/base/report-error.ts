// Prints an error of svc-server or svc-agent and returns the exit code.
import { CommanderError } from 'commander';
import { nativeModuleError } from './native-module.ts';
import { SvcError } from './svc-error.ts';

/**
 * Prints an error to standard error and returns the exit code: the one that `codes` has for the error's code, else 1.
 * Rethrows anything but a SvcError: that is a bug.
 */
export function reportError(
  program: string,
  thrown: unknown,
  codes: Readonly<Record<string, number>>,
): number {
  // Commander has already printed its message.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  const error = nativeModuleError(thrown) ?? thrown;
  if (!(error instanceof SvcError)) throw error;
  process.stderr.write(`${program}: ${error.message.replaceAll('\n', '\n  ')}\n`);
  if (error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
  return codes[error.code] ?? 1;
}
