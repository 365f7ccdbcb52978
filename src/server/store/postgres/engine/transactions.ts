// Runs transactions and retries those that conflicted or lost their connection.

import { setTimeout as delay } from 'node:timers/promises';
import {
  begin,
  type Connection,
  type Connections,
  type Queries,
  type Statement,
} from './connections.ts';
import { databaseErrorAnswer, isConflict, isLost } from './errors.ts';

/** What the stores of the nouns share. All methods reject with `storage_unavailable` if the database fails. */
export interface Access extends Queries {
  /**
   * The argument of `instant_or`: null, so that all instances use the database's clock, or a time set by a test.
   */
  instant(): number | null;
  /** Runs several reads on one snapshot. */
  read<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction and resolves once it is durable. If `work` throws, the transaction is undone. `work`
   * is retried after a conflict, or when the connection was lost before the commit, so it MUST change nothing but the
   * database. Take row locks in a fixed order: accounts by wallet, then tasks by id. A statement that locks rows and
   * updates them itself MUST lock them FOR UPDATE. With a weaker lock, where a foreign key shares the row, its own
   * update can queue behind waiters that wait for it.
   */
  write<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
}

/** Tries of a transaction that conflicts. */
const ATTEMPTS = 6;
const BACKOFF_MS = 10;
/** Retry deadline. A lost connection is retried until then, because a restarting server refuses connections. */
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
  /** Runs one statement as a transaction. A statement that writes MUST be safe to repeat, or only count calls. */
  function each<T>(
    { writes }: Statement,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const opening = connections.beginAlone(writes);
    const answered = () =>
      retried(() =>
        connections.use((connection) =>
          opening === null ? work(connection) : alone(connection, opening, work),
        ),
      );
    return writes ? commit(answered) : answered();
  }
  return {
    instant,
    rows: (statement, values) => each(statement, (on) => on.rows(statement, values)),
    run: (statement, values) => each(statement, (on) => on.run(statement, values)),
    read: (work) =>
      retried(() => connections.use((connection) => inTransaction(connection, 'READ ONLY', work))),
    write: (work) =>
      commit(() =>
        retried(() =>
          connections.use((connection) => inTransaction(connection, 'READ WRITE', work)),
        ),
      ),
  };
}

/** Runs one statement in a transaction, all in one round trip. If the statement fails, `COMMIT` undoes it. */
async function alone<T>(
  connection: Connection,
  opening: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const trips = [connection.execute(opening), work(connection)] as const;
  const committed = connection.execute('COMMIT');
  await Promise.allSettled([...trips, committed]);
  const [, result] = await Promise.all(trips);
  await committed;
  return result;
}

async function inTransaction<T>(
  connection: Connection,
  mode: 'READ WRITE' | 'READ ONLY',
  work: (tx: Queries) => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    await connection.execute(begin(mode, connection.ownSettings));
    result = await work(connection);
  } catch (error) {
    // If ROLLBACK fails too, the connection is lost and the server undoes the transaction.
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

/** The connection was lost during the commit. The commit may be durable, so it MUST NOT be retried. */
class UnknownOutcome extends Error {
  constructor(cause: unknown) {
    super('The outcome of the write is unknown', { cause });
  }
}

async function retried<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof UnknownOutcome) {
        throw databaseErrorAnswer(error.cause, 'The outcome of the write is unknown.');
      }
      const canRetry = isLost(error) || (isConflict(error) && attempt < ATTEMPTS);
      if (!canRetry || performance.now() > end) {
        throw databaseErrorAnswer(error, 'The database did not complete the request.');
      }
      // A random delay, so that conflicting transactions do not conflict again.
      await delay(Math.random() * BACKOFF_MS * 2 ** Math.min(attempt, ATTEMPTS));
    }
  }
}
