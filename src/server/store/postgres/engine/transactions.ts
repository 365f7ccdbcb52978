import { setTimeout as delay } from 'node:timers/promises';
import { begin, type Connection, type Connections, type Queries } from './connections.ts';
import { databaseErrorAnswer, PostgresError } from './errors.ts';
import type { Sql } from './sql.ts';

/** What the parts of the store share. Everything rejects with `storage_unavailable` where the database fails. */
export interface Access extends Queries {
  /**
   * What `instant_or` is given: null, so that all instances go by the database's clock; a test has one of its own.
   */
  instant(): number | null;
  /** Several reads of one moment. */
  read<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction and resolves once it is durable. What `work` throws undoes it. It runs again,
   * a few times, where another transaction was in the way or the connection was lost before the commit: it MUST
   * change nothing but the database. Take row locks in a fixed order: accounts by wallet, then tasks by id. A
   * statement that locks rows and updates them itself MUST lock them FOR UPDATE: with a weaker lock it may stand in
   * its own way, behind those who wait, where a foreign key shares the row.
   */
  write<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
}

/** For one that others are in the way of. */
const ATTEMPTS = 6;
const BACKOFF_MS = 10;
/** Nothing is begun again after so long; a lost connection is until then, which a server that restarts may need. */
const PATIENCE_MS = 3_000;

export type OnCommit = (commit: { writes: number; seconds: number }) => void;

export function accessTo(
  connections: Connections,
  { instant, onCommit }: { instant: Access['instant']; onCommit?: OnCommit },
): Access {
  async function commit<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await work();
    onCommit?.({ writes: 1, seconds: (performance.now() - startedAt) / 1000 });
    return result;
  }
  /** One statement is a transaction; one that writes MUST be harmless to repeat, or count only. */
  function each<T>({ writes }: Sql, work: (connection: Connection) => Promise<T>): Promise<T> {
    const answered = () => repeated(() => connections.use(work));
    return writes ? commit(answered) : answered();
  }
  return {
    instant,
    rows: (statement, values) => each(statement, (on) => on.rows(statement, values)),
    first: (statement, values) => each(statement, (on) => on.first(statement, values)),
    run: (statement, values) => each(statement, (on) => on.run(statement, values)),
    read: (work) =>
      repeated(() => connections.use((connection) => inTransaction(connection, 'READ ONLY', work))),
    write: (work) =>
      commit(() =>
        repeated(() =>
          connections.use((connection) => inTransaction(connection, 'READ WRITE', work)),
        ),
      ),
  };
}

async function inTransaction<T>(
  connection: Connection,
  mode: 'READ WRITE' | 'READ ONLY',
  work: (tx: Queries) => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    await connection.execute(begin(mode));
    result = await work(connection);
  } catch (error) {
    // Where this fails too, the connection is lost, and the transaction with it.
    if (!isLost(error)) await connection.execute('ROLLBACK');
    throw error;
  }
  try {
    await connection.execute('COMMIT');
  } catch (error) {
    throw mode === 'READ WRITE' && isLost(error) ? new UnknownOutcome(error) : error;
  }
  return result;
}

/** The connection was lost during the commit: it may be durable or not, and MUST NOT be repeated here. */
class UnknownOutcome extends Error {
  constructor(cause: unknown) {
    super('It is not known whether the write became durable', { cause });
  }
}

async function repeated<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof UnknownOutcome) {
        throw databaseErrorAnswer(error.cause, 'It is not known whether the write became durable.');
      }
      const mayRepeat = isLost(error) || (isConflict(error) && attempt < ATTEMPTS);
      if (!mayRepeat || performance.now() > end) {
        throw databaseErrorAnswer(error, 'The database did not take or answer the request.');
      }
      // Random, so that those who met do not meet again.
      await delay(Math.random() * BACKOFF_MS * 2 ** Math.min(attempt, ATTEMPTS));
    }
  }
}

function isLost(error: unknown): boolean {
  return error instanceof PostgresError && error.kind === 'lost';
}

function isConflict(error: unknown): boolean {
  return error instanceof PostgresError && error.kind === 'conflict';
}
