// Prints the result of a command: lines for people, or JSON.

export interface Output {
  json?: boolean;
  /** Also name the database. */
  verbose?: boolean;
}

/** Prints the lines; with `--json` one JSON object. */
export function print(data: object, lines: readonly string[], { json }: Output): void {
  printLines(json ? [JSON.stringify(data)] : lines);
}

/** One line for each member, with the values in one column. */
export function linesOf(data: object): string[] {
  const width = Math.max(...Object.keys(data).map((name) => name.length));
  return Object.entries(data).map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

/** Prints one line for each record, under a line with their names; with `--json` one JSON object per line. */
export function printTable(records: readonly object[], { json }: Output): void {
  printLines(json ? records.map((record) => JSON.stringify(record)) : tableOf(records));
}

function tableOf(records: readonly object[]): string[] {
  if (records.length === 0) return [];
  const rows = [
    Object.keys(records[0] ?? {}),
    ...records.map((record) => Object.values(record).map((value) => String(value ?? '-'))),
  ];
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}
