// Formats tables and records for a terminal, or as tab-separated values.
import type { ChalkInstance } from 'chalk';
import { escapeText } from '../escape.ts';

type Cell = string | number | null;

export interface Column<Row> {
  title: string;
  /** The value for programs. */
  value: (row: Row) => Cell;
  /** The value for people; `value` if absent. */
  shown?: (row: Row) => Cell;
  /** The value is a timestamp, which people see as `showTime` has it. */
  isTime?: true;
  /** The column is cut if the terminal is too narrow. */
  shrinks?: true;
  /** Colors the finished cell on a terminal. */
  paint?: (row: Row, text: string) => string;
}

const GAP = 2;
const NARROWEST = 8;

/** Columns that a text occupies on a terminal. */
type WidthOf = (text: string) => number;

/** Latin letters and common punctuation, one column each: string-width, which is slow to load, is not needed. */
const NARROW = /^[\x20-\x7e\xa0-\u02ff\u2010-\u2027]*$/;

/** The largest number; 0 without any. `Math.max` takes only as many as fit on the stack. */
export function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((max, number) => Math.max(max, number), 0);
}

async function widthOf(texts: readonly string[]): Promise<WidthOf> {
  if (texts.every((text) => NARROW.test(text))) return (text) => text.length;
  return (await import('string-width')).default;
}

/** Lines of a table: aligned under a header on a terminal of this width, tab-separated and uncut without a width. */
export async function formatTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { width, colors }: { width: number | null; colors: ChalkInstance },
): Promise<string[]> {
  if (width === null) {
    return rows.map((row) => columns.map(({ value }) => text(value(row), '')).join('\t'));
  }
  if (rows.length === 0) return [];
  const cells = rows.map((row) => columns.map((column) => shownText(column, row)));
  const head = columns.map(({ title }) => title.toUpperCase());
  const measure = await widthOf(cells.flat());
  const widths = fitWidths(
    columns.map((_, i) => maxOf([head, ...cells].map((line) => measure(line[i] ?? '')))),
    columns.map(({ shrinks }) => shrinks === true),
    width,
  );
  const format = (line: string[], paint: (text: string, i: number) => string) =>
    line
      .map((cell, i) => paint(pad(cut(cell, widths[i] ?? 0, measure), widths[i] ?? 0, measure), i))
      .join(' '.repeat(GAP))
      .trimEnd();
  return [
    format(head, (cell) => colors.bold(cell)),
    ...cells.map((line, at) =>
      format(line, (cell, i) => {
        const row = rows[at];
        return row === undefined ? cell : (columns[i]?.paint?.(row, cell) ?? cell);
      }),
    ),
  ];
}

/** One row of a growing list: not aligned, because the widths of later rows are unknown. */
export function formatRow<Row>(
  row: Row,
  columns: readonly Column<Row>[],
  isTerminal: boolean,
): string {
  const cells = columns.map((column) => {
    if (!isTerminal) return text(column.value(row), '');
    const cell = shownText(column, row);
    return column.paint?.(row, cell) ?? cell;
  });
  return cells.join(isTerminal ? '  ' : '\t');
}

/** Lines of named values: aligned on a terminal, tab-separated elsewhere. */
export async function formatRecord(
  fields: readonly (readonly [name: string, value: Cell])[],
  { isTerminal, colors }: { isTerminal: boolean; colors: ChalkInstance },
): Promise<string[]> {
  if (!isTerminal) return fields.map(([name, value]) => `${escapeText(name)}\t${text(value, '')}`);
  const measure = await widthOf(fields.map(([name]) => name));
  const width = maxOf(fields.map(([name]) => measure(name)));
  return fields.map(
    ([name, value]) => `${colors.dim(pad(escapeText(name), width, measure))}  ${text(value, '–')}`,
  );
}

/** A timestamp of the service for people: UTC, without fractions of a second. */
export function showTime(timestamp: string | null): string | null {
  return timestamp === null ? null : timestamp.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

const SHORTEST = 8;

/** Shortens the ids of a complete list to the shortest common length at which they differ. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  let length = SHORTEST;
  while (length < 36 && new Set(ids.map((id) => id.slice(0, length))).size < ids.length)
    length += 1;
  return (id) => id.slice(0, length).replace(/-$/, '');
}

function shownText<Row>({ value, shown, isTime }: Column<Row>, row: Row): string {
  const cell = (shown ?? value)(row);
  return text(isTime && cell !== null ? showTime(String(cell)) : cell, '–');
}

function text(cell: Cell, absent: string): string {
  return cell === null ? absent : escapeText(String(cell));
}

/** Narrows the widest shrinkable column until the line fits or all of them are NARROWEST. */
function fitWidths(widths: number[], shrinks: boolean[], available: number): number[] {
  const fitted = [...widths];
  const total = () => fitted.reduce((sum, width) => sum + width, GAP * (fitted.length - 1));
  while (total() > available) {
    const widest = Math.max(...fitted.filter((_, i) => shrinks[i]));
    if (!(widest > NARROWEST)) break;
    const i = fitted.findIndex((width, at) => shrinks[at] && width === widest);
    fitted[i] = Math.max(NARROWEST, widest - (total() - available));
  }
  return fitted;
}

function cut(cell: string, width: number, measure: WidthOf): string {
  if (measure(cell) <= width) return cell;
  let kept = '';
  for (const character of cell) {
    if (measure(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

function pad(cell: string, width: number, measure: WidthOf): string {
  return cell + ' '.repeat(Math.max(0, width - measure(cell)));
}
