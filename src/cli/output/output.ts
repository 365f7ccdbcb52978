import { Chalk, type ChalkInstance } from 'chalk';
import { escapeLines, escapeText, formatJson } from './escape.ts';
import { type Column, formatRecord, formatRow, formatTable } from './table.ts';

export type { Column };

interface OutputOptions {
  json: boolean;
  quiet: boolean;
  env: NodeJS.ProcessEnv;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

export type Output = ReturnType<typeof createOutput>;

/**
 * Where a command writes: data to stdout, talk to stderr. What a terminal could obey is escaped, but for what
 * `line` is given.
 */
export function createOutput({ json, quiet, env, stdout, stderr }: OutputOptions) {
  const isTerminal = stdout.isTTY === true;
  // Some terminals say that they have no columns.
  const hasSize = (stderr.columns ?? 0) > 0;
  const silent = json || quiet;
  const onStdout = new Chalk({ level: colorLevel(env, stdout) });
  const onStderr = new Chalk({ level: colorLevel(env, stderr) });
  const line = (text: string): void => {
    stdout.write(`${text}\n`);
  };
  const printJson = (value: unknown) => line(formatJson(value, isTerminal));
  return {
    /** Whether JSON was asked for: then nothing else may be written. */
    asksJson: json,
    /** Whether a person reads stdout. */
    isTerminal,
    /** Whether something that moves may be shown on stderr. */
    mayAnimate: !silent && stderr.isTTY === true && hasSize && env.TERM !== 'dumb',
    /** Colours of stdout; none where they are not wanted. */
    colors: onStdout as ChalkInstance,
    /** Colours of stderr. */
    talkColors: onStderr as ChalkInstance,
    /** One line of data, as it is: colours of ours may be in it. */
    line,
    /** The same of somebody else's text. */
    text: (text: string) => line(escapeText(text)),
    json: printJson,
    /** Talk for a person; not with --json or --quiet. */
    note(text: string) {
      if (!silent) stderr.write(`${escapeLines(text)}\n`);
    },
    /** Talk that must be read, whatever was asked for. */
    warn(text: string) {
      stderr.write(`${onStderr.yellow('!')} ${escapeLines(text)}\n`);
    },
    /** `answer` as JSON; else its rows: a table on a terminal, TSV without a head elsewhere. */
    async table<Row>(answer: unknown, rows: readonly Row[], columns: readonly Column<Row>[]) {
      if (json) return printJson(answer);
      const width = isTerminal ? stdout.columns || 80 : null;
      for (const text of await formatTable(rows, columns, { width, colors: onStdout })) line(text);
    },
    /** One row of a list that goes on. */
    row: <Row>(row: Row, columns: readonly Column<Row>[]) =>
      line(formatRow(row, columns, isTerminal)),
    /** `answer` as JSON; else named values, one to a line. */
    async record(answer: unknown, fields: readonly Field[]) {
      if (json) return printJson(answer);
      for (const text of await formatRecord(fields, { isTerminal, colors: onStdout })) line(text);
    },
    /** Text of somebody else, in a sentence of ours. */
    quote: (text: string) => `“${escapeText(text)}”`,
  };
}

/** Name and value; null where there is none. */
export type Field = readonly [name: string, value: string | number | null];

/** FORCE_COLOR over NO_COLOR (https://no-color.org), and neither: by the terminal. As Node.js decides. */
function colorLevel(env: NodeJS.ProcessEnv, stream: NodeJS.WriteStream): 0 | 1 {
  if (env.FORCE_COLOR !== undefined) return ['0', 'false'].includes(env.FORCE_COLOR) ? 0 : 1;
  if (env.NO_COLOR) return 0;
  return stream.isTTY === true && env.TERM !== 'dumb' ? 1 : 0;
}
