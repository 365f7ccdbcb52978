// Builds answers: long JSON in pieces, entity tags and 304 for reads, gzip, lists as CSV.
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createGzip, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Page } from '../../core/paging.ts';

/** Below this many characters, gzip saves less than it costs. */
const SMALL = 2048;

/**
 * Tags the good answers of the table's GET routes with a hash of their content, and compresses those of the dashboard
 * and the OpenAPI document. None of them contains a key or a token: the size of a compressed answer could reveal it.
 */
export function addRepresentations(app: FastifyInstance): void {
  /** The OpenAPI document never changes: all answers share its tag and its bytes. */
  const openApi: { tag?: string; plain?: Buffer; zipped?: Buffer } = {};

  app.addHook('onSend', (request, reply, payload, done) => {
    if (payload instanceof Readable) destroyWith(request.raw.socket, payload);
    // Most requests are writes, and reading the options of a route builds an object.
    if (request.method !== 'GET' && request.method !== 'HEAD') return done(null, payload);
    const { route, name } = request.routeOptions.config;
    if (route?.method !== 'GET' || route.stream || reply.statusCode !== 200) {
      return done(null, payload);
    }
    const zips = (route.access === 'session' || name === 'getOpenApi') && takesGzip(request, reply);
    if (payload instanceof Readable) {
      if (zips) reply.header('content-encoding', 'gzip');
      return done(null, zips ? pipeline(payload, createGzip(), () => {}) : payload);
    }
    if (typeof payload !== 'string') return done(null, payload);
    const kept = name === 'getOpenApi' ? openApi : {};
    kept.tag ??= `W/"${createHash('sha1').update(payload).digest('base64url')}"`;
    const { tag } = kept;
    reply.header('etag', tag);
    if (isKnown(request.headers['if-none-match'], tag)) {
      reply.status(304).removeHeader('content-type');
      return done(null, '');
    }
    if (!zips || payload.length < SMALL) {
      if (name === 'getOpenApi') kept.plain ??= Buffer.from(payload);
      return done(null, kept.plain ?? payload);
    }
    reply.header('content-encoding', 'gzip');
    if (kept.zipped !== undefined) return done(null, kept.zipped);
    // In a thread of libuv.
    gzip(payload, (error, zipped) => {
      if (error !== null) return done(null, payload);
      kept.zipped = zipped;
      done(null, zipped);
    });
  });
}

/** A response that is queued behind another gets no 'close', so its file would stay open. */
function destroyWith(socket: Socket, payload: Readable): void {
  const destroy = () => payload.destroy();
  socket.once('close', destroy);
  payload.once('close', () => socket.off('close', destroy));
  if (socket.destroyed) destroy();
}

function takesGzip({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'Accept, Accept-Encoding');
  const accepted = String(headers['accept-encoding'] ?? '').toLowerCase();
  if (/\bgzip *; *q=0(\.0*)? *(,|$)/.test(accepted)) return false;
  return accepted.split(',').some((one) => /^ *(gzip|\*) *(;q=(1|0\.0*[1-9]).*)?$/.test(one));
}

/** Compared weakly, as RFC 9110 asks for If-None-Match. */
function isKnown(tags: string | undefined, tag: string): boolean {
  return (tags ?? '').split(',').some((one) => [tag, tag.slice(2), '*'].includes(one.trim()));
}

const PIECE_LENGTH = 16 * 1024;

/**
 * Serializes a body to JSON in pieces of about 16 KiB. Array items are serialized one by one, so that no step takes
 * long.
 */
export function* jsonPieces(body: object): Generator<string> {
  let piece = '';
  for (const part of jsonParts(body)) {
    piece += part;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

function* jsonParts(body: object): Generator<string> {
  let separator = '{';
  for (const [name, member] of Object.entries(body)) {
    yield `${separator}${JSON.stringify(name)}:`;
    if (Array.isArray(member)) yield* arrayParts(member);
    else yield JSON.stringify(member);
    separator = ',';
  }
  yield separator === '{' ? '{}' : '}';
}

function* arrayParts(items: unknown[]): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator + JSON.stringify(item);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

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

/** The start of a formula at the start of a text, or where a spreadsheet with another separator would split it. */
const FORMULA = /(^|[;|\t\r\n] *)(?=[=+\-@\t\r\n＝＋－＠])/g;

/** A text is quoted. An apostrophe keeps a spreadsheet from running what looks like a formula. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `"${text.replace(FORMULA, "$1'").replaceAll('"', '""')}"`;
}
