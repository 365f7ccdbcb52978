// Lists as CSV (RFC 4180), for spreadsheets.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Page } from '../../ports/json-text.ts';

type Row = Readonly<Record<string, unknown>>;

type ReadPage = (cursor?: string) => Promise<Page<Row>>;

/** Items of a page. */
const PAGE = '200';

/** The answer of a handler whose caller prefers CSV. */
export class Csv {
  readonly #lines: AsyncIterable<string>;

  private constructor(lines: AsyncIterable<string>) {
    this.#lines = lines;
  }

  /** Reads the first page, whose errors are answered as any. The others are read one by one, as the caller takes them. */
  static async open<Query extends { cursor?: string }>(
    columns: readonly string[],
    query: Query,
    read: (query: Query) => Promise<Page<Row>>,
  ): Promise<Csv> {
    const readPage: ReadPage = (cursor = query.cursor) =>
      read({ ...query, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    return new Csv(linesOf(columns, await readPage(), readPage));
  }

  send({ method }: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.type('text/csv; charset=utf-8');
    // Without a body no further page is needed.
    return reply.send(method === 'HEAD' ? '' : Readable.from(this.#lines));
  }
}

export function wantsCsv({ headers }: FastifyRequest): boolean {
  return /^\s*text\/csv\s*(?:[;,]|$)/i.test(headers.accept ?? '');
}

/** Yields once for each page, so that it ends with the connection. */
async function* linesOf(columns: readonly string[], first: Page<Row>, read: ReadPage) {
  yield `${columns.join(',')}\r\n`;
  for (let page = first; ; page = await read(page.next_cursor ?? undefined)) {
    const { items, next_cursor } = page;
    yield items.map((row) => `${columns.map((name) => cell(row[name])).join(',')}\r\n`).join('');
    if (next_cursor === null) return;
  }
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  // A spreadsheet would run a text like these as a formula; the apostrophe makes it a text.
  const safe =
    typeof value === 'number' || !/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? text : `'${text}`;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
