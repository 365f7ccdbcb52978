// Lists as CSV (RFC 4180), for spreadsheets.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Page } from '../../ports/json-text.ts';

type Row = Readonly<Record<string, unknown>>;

/** The answer of a handler whose caller prefers CSV. */
export class Csv {
  readonly #lines: AsyncIterable<string>;

  /** `read` reads a page from the cursor; the pages are read one after the other, as the caller takes them. */
  constructor(
    columns: readonly string[],
    read: (cursor: string | undefined) => Promise<Page<Row>>,
  ) {
    this.#lines = linesOf(columns, read);
  }

  send(reply: FastifyReply): FastifyReply {
    reply.type('text/csv; charset=utf-8').header('vary', 'Accept');
    return reply.send(Readable.from(this.#lines));
  }
}

export function wantsCsv({ headers }: FastifyRequest): boolean {
  return /^\s*text\/csv\b/i.test(headers.accept ?? '');
}

async function* linesOf(
  columns: readonly string[],
  read: (cursor: string | undefined) => Promise<Page<Row>>,
): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`;
  let cursor: string | null | undefined;
  do {
    const { items, next_cursor } = await read(cursor ?? undefined);
    const lines = items.map((row) => columns.map((name) => cell(row[name])).join(','));
    if (lines.length > 0) yield `${lines.join('\r\n')}\r\n`;
    cursor = next_cursor;
  } while (cursor !== null);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  // A spreadsheet would run a text like these as a formula; the apostrophe makes it a text.
  const safe = typeof value === 'number' || !/^[=+\-@\t\r]/.test(text) ? text : `'${text}`;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
