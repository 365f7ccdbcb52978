import pg from 'pg';
import { SvcError } from '../../../../base/svc-error.ts';
import { storageUnavailable } from '../../../ports/errors.ts';

export type DatabaseErrorKind =
  /** Another transaction was in the way and this one was undone; the same can succeed at once. */
  | 'conflict'
  /** The connection or the server is gone; whether a commit under way happened is not known. */
  | 'lost'
  /** A rule of the schema was broken: a bug in this process. */
  | 'constraint'
  /** Took too long, no room, no permission: undone. */
  | 'refused';

/** What a query, a connection or a commit ended with; nothing that a use case throws is one. */
export class PostgresError extends Error {
  readonly kind: DatabaseErrorKind;

  constructor(cause: unknown) {
    super('The database answered with an error', { cause });
    this.kind = kindOf(cause);
  }
}

/** For the caller of the store: what it can do about it is to try again. */
export function databaseErrorAnswer(error: unknown, message: string): unknown {
  if (!(error instanceof PostgresError)) return error;
  if (error.kind === 'constraint') return error.cause;
  return storageUnavailable(message, error.cause);
}

const CONFLICTS = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available: the lock time-out
]);

/** A connection was refused, and another one may be given back at any moment. */
const TOO_MANY_CONNECTIONS = '53300';

/** https://www.postgresql.org/docs/current/errcodes-appendix.html; what has no code is of the connection. */
function kindOf(cause: unknown): DatabaseErrorKind {
  if (!(cause instanceof pg.DatabaseError)) return 'lost';
  const { code = '' } = cause;
  if (CONFLICTS.has(code)) return 'conflict';
  // 57P01 to 57P05: the server stops, starts, or ended the session. 08: the connection. 25006: the server became a
  // standby, and another one writes; no statement of it did.
  if (code.startsWith('57P') || code.startsWith('08') || code === '25006') return 'lost';
  if (code === TOO_MANY_CONNECTIONS) return 'lost';
  return code.startsWith('23') ? 'constraint' : 'refused';
}

/** For a start that cannot go on: with the server's own words, and without the address, which may hold a password. */
export function cannotUse(error: unknown): unknown {
  if (!(error instanceof PostgresError)) return error;
  const { cause } = error;
  return new SvcError('database_unusable', `The PostgreSQL database cannot be used${why(cause)}.`, {
    hint: hintFor(error),
    cause,
  });
}

function hintFor({ kind, cause }: PostgresError): string {
  if (kind === 'conflict') {
    return 'A backup or a query that takes long holds its tables: end it, or start again afterwards.';
  }
  if (cause instanceof pg.DatabaseError && cause.code === TOO_MANY_CONNECTIONS) {
    return 'Lower SVC_DATABASE_POOL_MAX of the instances, or raise max_connections of the server.';
  }
  return 'Check its address (SVC_DATABASE_URL): host, port, name, user, password and sslmode, and that the user may create tables.';
}

/** Of node-postgres, what has no code is a sentence of its own; with one, the message may name parts of the address. */
function why(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  if (cause instanceof pg.DatabaseError || !('code' in cause)) return `: ${cause.message}`;
  return ` (${String(cause.code)})`;
}
