// The table of promises: what the service signed about completions that wait for their anchors.
import type { Database } from 'better-sqlite3';

/** What is wrong with a promise, for the owner of the robot. */
export interface PromiseProblem {
  readonly code: 'promise_refused' | 'promise_times' | 'promise_overdue';
  readonly message: string;
}

export interface StoredPromise {
  /** The JWS; null if a check failed. */
  readonly text: string | null;
  /** The wall clock when it arrived, if it was synchronized. */
  readonly arrivedMs: number | null;
  /** Its `anchored_by`; null if a check failed, or while the key is not known. */
  readonly dueMs: number | null;
  readonly problem: PromiseProblem | null;
}

/** Most problems that the status lists, so that its answer stays short. */
const PROBLEMS_SHOWN = 20;

/**
 * At most one promise for each completion, until its receipt: the first one that passes the checks. Every method runs inside
 * the caller's transaction. A recovery of the file loses the promises.
 */
export class PromiseTable {
  readonly #sql;

  constructor(db: Database) {
    this.#sql = {
      of: db.prepare<[string], Omit<StoredPromise, 'problem'> & { problem: string | null }>(
        'SELECT text, arrived_ms arrivedMs, due_ms dueMs, problem FROM promises WHERE id = ?',
      ),
      keep: db.prepare(
        `INSERT INTO promises (id, text, arrived_ms, due_ms, problem) 
           SELECT @id, @text, @arrivedMs, @dueMs, @problem WHERE EXISTS (SELECT 1 FROM completions WHERE id = @id)
           ON CONFLICT (id) DO UPDATE SET text = @text, arrived_ms = @arrivedMs, due_ms = @dueMs, problem = @problem
           WHERE due_ms IS NULL AND (text IS NOT NULL OR problem IS NOT @problem)`,
      ),
      unchecked: db.prepare<[number], { id: string; text: string; arrivedMs: number | null }>(
        'SELECT id, text, arrived_ms arrivedMs FROM promises WHERE text IS NOT NULL AND due_ms IS NULL LIMIT ?',
      ),
      noteProblem: db.prepare(
        'UPDATE promises SET problem = @problem WHERE id = @id AND problem IS NOT @problem',
      ),
      forget: db.prepare('DELETE FROM promises WHERE id = ?'),
      kept: db.prepare<[], number>('SELECT count(*) FROM promises WHERE due_ms > 0').pluck(),
      problems: db.prepare<[], { id: string; problem: string }>(
        `SELECT id, problem FROM promises WHERE problem IS NOT NULL LIMIT ${PROBLEMS_SHOWN}`,
      ),
    };
  }

  of(id: string): StoredPromise | null {
    const row = this.#sql.of.get(id);
    return row === undefined ? null : { ...row, problem: row.problem && JSON.parse(row.problem) };
  }

  /** False if another promise is kept, the same problem is noted, or the completion has left the spool. */
  keep(id: string, { problem, ...promise }: StoredPromise): boolean {
    const text = problem && JSON.stringify(problem);
    return this.#sql.keep.run({ ...promise, id, problem: text }).changes > 0;
  }

  /** Promises whose signature is not checked yet. */
  unchecked(most: number) {
    return this.#sql.unchecked.all(most);
  }

  /** False if the problem is noted already. */
  noteProblem(id: string, problem: PromiseProblem): boolean {
    return this.#sql.noteProblem.run({ id, problem: JSON.stringify(problem) }).changes > 0;
  }

  forget(id: string): void {
    this.#sql.forget.run(id);
  }

  status() {
    const problems = this.#sql.problems.all();
    return {
      /** Promises that passed the checks and wait for their receipts. */
      kept: this.#sql.kept.get() ?? 0,
      problems: problems.map(({ id, problem }) => ({
        task_id: id,
        ...(JSON.parse(problem) as PromiseProblem),
      })),
    };
  }
}
