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

/** Whether commander prints nothing, because of --json. */
let isSilent = false;

/** Exit code of an error of commander, which has printed it, except with --json. */
export function reportUsage({ exitCode, code, message }: CommanderError): number {
  if (exitCode === 0) return 0;
  const text = code === 'commander.help' ? 'A command is missing.' : message;
  if (isSilent && asksJson()) {
    printError('', { code: 'usage', message: text.replace(/^error: /, ''), hint: HELP_HINT });
  }
  return 2;
}

/**
 * Makes commander's errors, of this command and those below it, safe to print: escaped, or silent with --json. For an
 * unknown option without a suggestion, suggests those that begin with it.
 */
export function prepareErrors(command: Command): void {
  isSilent = asksJson();
  command
    .showHelpAfterError(HELP_HINT)
    .configureOutput(
      isSilent
        ? { writeErr: () => {} }
        : { outputError: (text, write) => write(escapeLines(withSuggestion(text, command))) },
    );
  for (const child of command.commands) prepareErrors(child);
}

function withSuggestion(text: string, command: Command): string {
  const [, start] = /unknown option '(--[\w-]+)'\n$/.exec(text) ?? [];
  const found = command.options.find(({ long }) => start !== undefined && long?.startsWith(start));
  return found === undefined ? text : `${text}(Did you mean ${found.long}?)\n`;
}

/** Whether the command line has --json, before any `--`. */
function asksJson(): boolean {
  const words = process.argv.slice(2);
  const end = words.indexOf('--');
  return (end === -1 ? words : words.slice(0, end)).includes('--json');
}
