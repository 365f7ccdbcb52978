// Writes the output of commands as tables, records, JSON or messages.
import { Chalk, type ChalkInstance } from 'chalk';
import { escapeLines, escapeText, formatJson } from '../escape.ts';
import type { Field } from './fields.ts';
import { type Column, formatRecord, formatRow, formatTable } from './table.ts';

export type { Column };

export type Output = ReturnType<typeof createOutput>;

/**
 * The output of a command: data on stdout, messages on stderr. Control characters are escaped, except in the text
 * given to `line`.
 */
export function createOutput(
  options: { json?: boolean | undefined; quiet?: boolean | undefined },
  env: NodeJS.ProcessEnv,
) {
  const { stdout, stderr } = process;
  const [json, quiet] = [options.json === true, options.quiet === true];
  const isTerminal = stdout.isTTY === true;
  // Some terminals report 0 columns.
  const hasSize = (stderr.columns ?? 0) > 0;
  const silent = json || quiet;
  const onStdout = new Chalk({ level: colorLevel(env, stdout) });
  const onStderr = new Chalk({ level: colorLevel(env, stderr) });
  const line = (text: string): void => {
    stdout.write(`${text}\n`);
  };
  const printJson = (value: unknown) => line(formatJson(value, isTerminal));
  const printText = (text: string) => line(escapeText(text));
  const note = (text: string): void => {
    if (!silent) stderr.write(`${escapeLines(text)}\n`);
  };
  return {
    /** Whether `--json` was given: then nothing but JSON may be written. */
    asksJson: json,
    /** Whether stdout is a terminal. */
    isTerminal,
    /** Whether stderr can show a spinner or progress. */
    mayAnimate: !silent && stderr.isTTY === true && hasSize && env.TERM !== 'dumb',
    /** Colors of stdout; plain text if they are off. */
    colors: onStdout as ChalkInstance,
    /** Colors of stderr. */
    messageColors: onStderr as ChalkInstance,
    /** Prints one line of data unescaped: it may contain our own colors. */
    line,
    /** Prints one line of foreign text, escaped. */
    text: printText,
    json: printJson,
    /** A message for a person; not printed with --json or --quiet. */
    note,
    /** A warning; printed with --json and --quiet too. */
    warn(text: string) {
      stderr.write(`${onStderr.yellow('!')} ${escapeLines(text)}\n`);
    },
    /** Prints `answer` with --json; else a message for a person, and before it one line of `data` if there is any. */
    done(answer: unknown, message: string, data?: string) {
      if (json) return printJson(answer);
      if (data !== undefined) printText(data);
      note(message);
    },
    /** Prints `answer` with --json; else its rows: a table on a terminal, TSV without a header elsewhere. */
    async table<Row>(answer: unknown, rows: readonly Row[], columns: readonly Column<Row>[]) {
      if (json) return printJson(answer);
      const width = isTerminal ? stdout.columns || 80 : null;
      for (const text of await formatTable(rows, columns, { width, colors: onStdout })) line(text);
    },
    /** Prints one row of a list that is still growing. */
    row: <Row>(row: Row, columns: readonly Column<Row>[]) =>
      line(formatRow(row, columns, isTerminal)),
    /** Prints `answer` with --json; else named values, one per line. */
    async record(answer: unknown, fields: readonly Field[]) {
      if (json) return printJson(answer);
      for (const text of await formatRecord(fields, { isTerminal, colors: onStdout })) line(text);
    },
    /** Quotes foreign text for a sentence. */
    quote: (text: string) => `“${escapeText(text)}”`,
  };
}

/** Like Node.js: FORCE_COLOR wins over NO_COLOR (https://no-color.org); without both, the terminal decides. */
function colorLevel(env: NodeJS.ProcessEnv, stream: NodeJS.WriteStream): 0 | 1 {
  if (env.FORCE_COLOR !== undefined) return ['0', 'false'].includes(env.FORCE_COLOR) ? 0 : 1;
  if (env.NO_COLOR) return 0;
  return stream.isTTY === true && env.TERM !== 'dumb' ? 1 : 0;
}
