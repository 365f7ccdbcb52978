// The type of a row of the route table, and what many rows have in common.
import { type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCode } from './errors.ts';
import { Closed } from './fields.ts';
import { limits } from './limits.ts';
import { Id, PageQuery, page } from './paging.ts';

/**
 * One endpoint. The server, the client and the documentation derive from these rows.
 *
 * - `access`: the required credential. An account token can replace the session; a Bearer credential takes precedence
 *   over the cookie.
 * - `sessionOnly`: account tokens are refused.
 * - `limit`: the rate limit that a request counts toward; `none` for unmetered routes.
 * - `maxBody`: maximum size of the body in bytes, if one may be sent.
 * - `document`: the member of the body that may be any JSON, and its maximum size in bytes of canonical form.
 * - `documentLevels`: how many levels of the body surround a document; 1 without it.
 * - `maxValues`: maximum number of JSON values in a body with several documents, including objects and arrays.
 * - `roundsNumbers`: nothing of the body is hashed, so numbers that no double holds are rounded instead of refused.
 * - `longAnswer`: the response may have megabytes, and is sent in chunks.
 * - `stream`: the response is a stream of server-sent events or JSON lines; `responses` has the data of each message, or
 *   a line.
 * - `takesTurn`: callers take turns, by the account of a valid credential, otherwise by their source. Public routes do,
 *   except those that answer from memory, and those with a queue of their own.
 * - `isRead`: changes nothing, whatever its method, so that a suspended account may call it.
 * - `fieldErrors`: the error code for an invalid body or path field, `*` for any other and for unknown ones. Without it
 *   the code is `invalid_request`, for a path field `not_found`.
 * - `lateValidation`: the handler throws the error of an invalid body itself, after what the interface wants first.
 * - `countErrors`: the error code for too many items in a body field.
 * - `errors`: error codes of this endpoint in addition to those that its access, limit and body imply.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  summary: string;
  /** Details, in sentences. */
  description?: string;
  /** An example of the body, if one generated from the schema would be invalid. */
  example?: Readonly<Record<string, unknown>>;
  access: 'public' | 'robot' | 'session' | 'robot_or_session';
  sessionOnly?: true;
  limit: 'robot' | 'account' | 'challenge' | 'none';
  /** Requires the service's own origin in the Origin header, with any credential. */
  ownOriginOnly?: true;
  /** Any origin may read the response. */
  cors?: true;
  params?: TObject;
  query?: TObject;
  body?: TObject;
  maxBody?: number;
  document?: { field: string; maxBytes: number };
  documentLevels?: number;
  maxValues?: number;
  roundsNumbers?: true;
  longAnswer?: true;
  stream?: 'text/event-stream' | 'application/jsonl';
  takesTurn?: boolean;
  isRead?: true;
  lateValidation?: true;
  fieldErrors?: Readonly<Record<string, ErrorCode>>;
  countErrors?: Readonly<Record<string, ErrorCode>>;
  responses: Readonly<Record<number, TSchema>>;
  errors: readonly ErrorCode[];
}

const uncounted = { limit: 'none', errors: [] } as const;
/** A resource is found by its id. One of another account is `not_found`, too. */
const byId = { params: Id, errors: ['not_found'] } as const;
const smallBody = { maxBody: limits.smallBodyBytes } as const;

const anonymous = { ...uncounted, access: 'public', takesTurn: true } as const;
export const publicRead = { ...anonymous, method: 'GET' } as const;
export const publicChange = { ...anonymous, ...smallBody, method: 'POST' } as const;

export const accountRead = { ...uncounted, method: 'GET', access: 'session' } as const;
export const accountReadById = { ...accountRead, ...byId } as const;
/** A list of what the account has, in pages. */
export function accountList<Item extends TSchema>(item: Item) {
  return { ...accountRead, query: Closed(PageQuery), responses: { 200: page(item) } } as const;
}
export const accountChange = {
  ...smallBody,
  method: 'POST',
  access: 'session',
  limit: 'account',
  errors: [],
} as const;
export const accountChangeById = { ...accountChange, ...byId } as const;
export const accountDeletion = {
  ...accountChangeById,
  method: 'DELETE',
  responses: { 200: Closed({ deleted: Type.Literal(true) }) },
} as const;

/** A robot reads its own tasks, and an account those of its robots. */
export const taskRead = { method: 'GET', access: 'robot_or_session', limit: 'robot' } as const;
export const taskReadById = { ...taskRead, ...byId } as const;

/** What a robot sends. Its body may have a document. */
export const robotChange = {
  method: 'POST',
  access: 'robot',
  limit: 'robot',
  maxBody: limits.bodyBytes,
} as const;
