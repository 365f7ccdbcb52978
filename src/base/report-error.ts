// Prints errors of the three programs, as text or as JSON, and returns the exit code.
import { type Command, CommanderError } from 'commander';
import { escapeLines, formatJson } from './escape.ts';
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
  if (thrown instanceof CommanderError) return reportUsage(thrown);
  if (!(thrown instanceof SvcError)) throw thrown;
  printError(program, thrown);
  return codes[thrown.code] ?? 1;
}

interface Failure {
  code: string;
  message: string;
  hint?: string | undefined;
}

/** Prints message and hint, or one JSON object `{ error, message, hint }` with --json. Parts may be foreign text. */
export function printError(program: string, { code, message, hint }: Failure): void {
  const text = asksJson()
    ? formatJson({ error: code, message, hint }, false)
    : escapeLines(
        [`${program}: ${message.replaceAll('\n', '\n  ')}`, ...(hint ? [hint] : [])].join('\n'),
      );
  process.stderr.write(`${text}\n`);
}

const HELP_HINT = 'Run with --help for usage and examples.';

/** Exit code of an error of commander, which `prepareErrors` has printed, except that a command is missing. */
export function reportUsage({ exitCode, code }: CommanderError): number {
  if (exitCode === 0) return 0;
  if (code === 'commander.help' && asksJson()) {
    printError('', { code: 'usage', message: 'A command is missing.', hint: HELP_HINT });
  }
  return 2;
}

/** The name that was probably meant; null if none is like the word. */
type Nearest = (word: string, names: readonly string[]) => string | null;

/**
 * Makes commander's errors, of this command and those below it, read as those of `printError`. They suggest an option
 * that begins with an unknown one, and a value of a fixed list.
 */
export function prepareErrors(command: Command, nearest: Nearest, program = command.name()): void {
  command.configureOutput({
    outputError: (text) => printError(program, usageError(text, command, nearest)),
    // Else the help that commander prints where a command is missing.
    ...(asksJson() && { writeErr: () => {} }),
  });
  for (const child of command.commands) prepareErrors(child, nearest, program);
}

function usageError(text: string, { options }: Command, nearest: Nearest): Failure {
  const [, problem = '', similar] =
    /^(?:error: )?(.*?)(?:\n\(Did you mean (.*)\?\))?\n$/s.exec(text) ?? [];
  const [, start] = /^unknown option '(--[\w-]+)'$/.exec(problem) ?? [];
  const [, value, values] =
    /(?:argument|value) '(.*)' is invalid.* Allowed choices are (.*)\.$/s.exec(problem) ?? [];
  const meant =
    similar ??
    (start && options.find(({ long }) => long?.startsWith(start))?.long) ??
    (value && values && nearest(value, values.split(', ')));
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replace(/\.$/, '')}.`;
  const isList = /^option '.*\.\.\.>' argument '[^']*,/.test(problem);
  const advice = isList ? 'Separate values with spaces.' : meant && `Did you mean ${meant}?`;
  const hint = advice ? `${advice}\n${HELP_HINT}` : HELP_HINT;
  return { code: 'usage', message: sentence, hint };
}

/** Whether the command line has --json, before any `--`. */
function asksJson(): boolean {
  const words = process.argv.slice(2);
  const end = words.indexOf('--');
  return (end === -1 ? words : words.slice(0, end)).includes('--json');
}
