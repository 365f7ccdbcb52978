// Runs the statements of one transaction on a connection, or each on a connection of its own.

import { requireRow, type Tx } from '../../db/database.ts';
import { type Sql, Statements } from '../../db/sql.ts';
import { type Queries, type Statement, sql } from './connections.ts';

export function statementsOf(instant: () => number | null): Statements<Statement> {
  return new Statements('postgres', instant, sql);
}

export class PostgresTx implements Tx {
  readonly #queries: Queries;
  readonly #statements: Statements<Statement>;
  readonly #underWay = new Set<Promise<unknown>>();
  #hasEnded = false;
  /** The error of the statement that failed. */
  failure: Error | null = null;

  constructor(queries: Queries, statements: Statements<Statement>) {
    this.#queries = queries;
    this.#statements = statements;
  }

  all<Row extends object>(statement: Sql): Promise<Row[]> {
    const { prepared, values } = this.#statements.find(statement);
    return this.#run(() => this.#queries.rows<Row>(prepared, values));
  }

  async get<Row extends object>(statement: Sql): Promise<Row | null> {
    return (await this.all<Row>(statement))[0] ?? null;
  }

  async one<Row extends object>(statement: Sql): Promise<Row> {
    return requireRow(await this.get<Row>(statement));
  }

  run(statement: Sql): Promise<number> {
    const { prepared, values } = this.#statements.find(statement);
    return this.#run(() => this.#queries.run(prepared, values));
  }

  /** Refuses later calls, and waits for those that were not awaited. Rejects if a statement failed. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await Promise.allSettled(this.#underWay);
    if (this.failure !== null) throw this.failure;
  }

  async #run<T>(query: () => Promise<T>): Promise<T> {
    if (this.failure !== null) throw this.failure;
    if (this.#hasEnded) throw new Error('The transaction has ended');
    const answer = query();
    this.#underWay.add(answer);
    try {
      return await answer;
    } catch (error) {
      this.failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      this.#underWay.delete(answer);
    }
  }
}
