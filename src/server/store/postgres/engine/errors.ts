// Classifies PostgreSQL errors and converts them for callers.

import pg from 'pg';
import { SvcError } from '../../../../base/svc-error.ts';
import { storageUnavailable } from '../../../ports/errors.ts';

type DatabaseErrorKind =
  /** A concurrent transaction conflicted and this one was undone. A retry can succeed at once. */
  | 'conflict'
  /** The connection or the server is gone. The outcome of a running commit is unknown. */
  | 'lost'
  /** A constraint of the schema was violated: a bug in this process. */
  | 'constraint'
  /** Undone: timeout, no disk space, no permission. */
  | 'refused';

/** An error of a query, a connection or a commit. Use cases never throw one. */
export class PostgresError extends Error {
  readonly kind: DatabaseErrorKind;

  constructor(cause: unknown) {
    super('The database returned an error', { cause });
    this.kind = kindOf(cause);
  }
}

export function isLost(error: unknown): boolean {
  return error instanceof PostgresError && error.kind === 'lost';
}

export function isConflict(error: unknown): boolean {
  return error instanceof PostgresError && error.kind === 'conflict';
}

/** Converts an error for the caller of the store. Database errors become `storage_unavailable`: the caller can retry. */
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

/** The rows of a group that conflicted with another transaction: none. Each of its requests can then run alone. */
export function unlessContended(error: unknown): never[] {
  const { cause } = error as Error;
  if (cause instanceof pg.DatabaseError && CONFLICTS.has(cause.code ?? '')) return [];
  throw error;
}

/** too_many_connections: a retry can succeed once another client disconnects. */
const TOO_MANY_CONNECTIONS = '53300';

/** node-postgres, for a server that asks for a password: neither the address nor another source has one. */
const NO_PASSWORD = /client password must be a /;

/** Converts an error of the start. The message has the server's text, but no address: it may contain a password. */
export function cannotUse(error: unknown): unknown {
  if (!(error instanceof PostgresError)) return error;
  const { cause } = error;
  return new SvcError('database_unusable', `Cannot use the PostgreSQL database${why(cause)}.`, {
    hint: hintFor(error),
    cause,
  });
}

function hintFor({ kind, cause }: PostgresError): string {
  if (kind === 'conflict') {
    return 'End the long backup or query that locks its tables, or start svc-server again afterwards.';
  }
  if (cause instanceof pg.DatabaseError && cause.code === TOO_MANY_CONNECTIONS) {
    return 'Lower SVC_DATABASE_POOL_MAX of the instances, or raise max_connections of the PostgreSQL server.';
  }
  if (cause instanceof Error && NO_PASSWORD.test(cause.message)) {
    return 'Set PGPASSWORD, or add a line for this host, port, database and user to ~/.pgpass or PGPASSFILE.';
  }
  return 'Check host, port, name, user, password and sslmode in SVC_DATABASE_URL, and that the user may create tables.';
}

/** The message of the server or of node-postgres. System errors have a code, and their message may name the address. */
function why(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  if (NO_PASSWORD.test(cause.message)) return ': it asks for a password, and none is set';
  if (cause instanceof pg.DatabaseError || !('code' in cause)) return `: ${cause.message}`;
  return ` (${String(cause.code)})`;
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html; errors without a code come from the connection. */
function kindOf(cause: unknown): DatabaseErrorKind {
  if (!(cause instanceof pg.DatabaseError)) return 'lost';
  const { code = '' } = cause;
  if (CONFLICTS.has(code)) return 'conflict';
  // 57P01 to 57P05: the server stops, starts, or ended the session. 08: the connection failed. 25006: the server became
  // a standby, and none of its statements wrote anything.
  if (code.startsWith('57P') || code.startsWith('08') || code === '25006') return 'lost';
  if (code === TOO_MANY_CONNECTIONS) return 'lost';
  return code.startsWith('23') ? 'constraint' : 'refused';
}
