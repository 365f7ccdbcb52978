// The type of a row of the route table.
import type { TObject, TSchema } from 'typebox';
import type { ErrorCode } from './errors.ts';

/**
 * One endpoint. Server registration, the client and the documentation derive from these rows.
 *
 * - `access`: who may call. `robot_or_session` takes a Bearer key if one is sent, else the cookie.
 * - `limit`: whose counter a call consumes; `none` where nothing is metered.
 * - `maxBody`: bytes of the largest body, where one may be sent.
 * - `document`: the member of the body that may be any JSON, and its limit in bytes of canonical form.
 * - `maxValues`: JSON values of the largest body that holds several documents, containers counted as well.
 * - `longAnswer`: the answer may be megabytes, and goes out in pieces.
 * - `fieldErrors`: the code for any fault of that body or path field; every other fault of shape
 *   is `invalid_request`.
 * - `countErrors`: the code for more items than that body field may have.
 * - `errors`: codes of this endpoint beside those that its access, limit and body imply.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  summary: string;
  /** What the summary does not say; sentences. */
  description?: string;
  /** A body to show, where one made of the schema alone would not be taken. */
  example?: Readonly<Record<string, unknown>>;
  access: 'public' | 'robot' | 'session' | 'robot_or_session';
  limit: 'robot' | 'account' | 'challenge' | 'none';
  /** Refused without an Origin header that is the service's own, whatever the credential. */
  ownOriginOnly?: true;
  /** Any origin may read the answer. */
  cors?: true;
  params?: TObject;
  query?: TObject;
  body?: TObject;
  maxBody?: number;
  document?: { field: string; maxBytes: number };
  maxValues?: number;
  longAnswer?: true;
  fieldErrors?: Readonly<Record<string, ErrorCode>>;
  countErrors?: Readonly<Record<string, ErrorCode>>;
  responses: Readonly<Record<number, TSchema>>;
  errors: readonly ErrorCode[];
}
