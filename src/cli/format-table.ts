import type { ChalkInstance } from 'chalk';
import stringWidth from 'string-width';
import { escapeText } from './escape-text.ts';

type Cell = string | number | null;

export interface Column<Row> {
  title: string;
  /** The value, as a program wants it. */
  value: (row: Row) => Cell;
  /** The same for a person; `value` where absent. */
  shown?: (row: Row) => Cell;
  /** Cut where the terminal is too narrow. */
  shrinks?: true;
  /** Colours the finished cell, on a terminal. */
  paint?: (row: Row, text: string) => string;
}

interface TableStyle {
  /** Columns of the terminal; null for TSV. */
  width: number | null;
  colors: ChalkInstance;
}

const GAP = 2;
const NARROWEST = 8;

/** Lines of a table: aligned under a head for a terminal, tab-separated and whole elsewhere. */
export function formatTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { width, colors }: TableStyle,
): string[] {
  if (width === null) {
    return rows.map((row) => columns.map(({ value }) => text(value(row), '')).join('\t'));
  }
  if (rows.length === 0) return [];
  const cells = rows.map((row) =>
    columns.map(({ value, shown }) => text((shown ?? value)(row), '–')),
  );
  const head = columns.map(({ title }) => title.toUpperCase());
  const widths = fitWidths(
    columns.map((_, i) => Math.max(...[head, ...cells].map((line) => stringWidth(line[i] ?? '')))),
    columns.map(({ shrinks }) => shrinks === true),
    width,
  );
  const format = (line: string[], paint: (text: string, i: number) => string) =>
    line
      .map((cell, i) => paint(pad(cut(cell, widths[i] ?? 0), widths[i] ?? 0), i))
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

/** One line of what comes bit by bit: not aligned, for nobody knows what is still to come. */
export function formatRow<Row>(
  row: Row,
  columns: readonly Column<Row>[],
  isTerminal: boolean,
): string {
  const cells = columns.map(({ value, shown, paint }) => {
    if (!isTerminal) return text(value(row), '');
    const cell = text((shown ?? value)(row), '–');
    return paint?.(row, cell) ?? cell;
  });
  return cells.join(isTerminal ? '  ' : '\t');
}

/** Lines of named values: aligned for a terminal, tab-separated elsewhere. */
export function formatRecord(
  fields: readonly (readonly [name: string, value: Cell])[],
  { isTerminal, colors }: { isTerminal: boolean; colors: ChalkInstance },
): string[] {
  if (!isTerminal) return fields.map(([name, value]) => `${name}\t${text(value, '')}`);
  const width = Math.max(...fields.map(([name]) => stringWidth(name)));
  return fields.map(([name, value]) => `${colors.dim(pad(name, width))}  ${text(value, '–')}`);
}

function text(cell: Cell, absent: string): string {
  return cell === null ? absent : escapeText(String(cell));
}

/** Takes from the widest of those that may shrink until the line fits, or all are narrow. */
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

function cut(cell: string, width: number): string {
  if (stringWidth(cell) <= width) return cell;
  let kept = '';
  for (const character of cell) {
    if (stringWidth(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - stringWidth(cell)));
}
