// Prints the result of a command as `svc` does: for people on a terminal, tab-separated elsewhere, or as JSON.
import { formatJson } from '../../base/escape.ts';
import { type Column, createOutput } from '../../base/output/output.ts';

export interface Output {
  json?: boolean;
  /** Also name the database. */
  verbose?: boolean;
}

export const outputOf = (options: Output) => createOutput(options, process.env);

/** Prints the lines; with `--json` one JSON object. */
export function print(data: object, lines: readonly string[], options: Output): void {
  const output = outputOf(options);
  if (output.asksJson) output.json(data);
  else for (const line of lines) output.text(line);
}

/** Prints one line for each row; with `--json` one JSON object per line. */
export async function printTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: Output,
): Promise<void> {
  const output = outputOf(options);
  if (!output.asksJson) return output.table(rows, rows, columns);
  for (const row of rows) output.line(formatJson(row, false));
}
