// What has left the queues of the spool: receipts and refused records.
import type { Database } from 'better-sqlite3';
import type { Hex } from '../../proof/bytes.ts';
import type { Task, Verification } from '../../protocol/resources.ts';
import type { SpoolRecord, StoredRecord } from './records.ts';

export interface Settlement {
  readonly proofHash: Hex;
  readonly verification: Verification;
}

export interface Receipt extends Settlement {
  /** The service's task; null where the claim did not go through this agent. */
  readonly task: Task | null;
}

/** The service's reason to never accept a record. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

export type RefusedRecord = Refusal & StoredRecord;

/** Receipts kept to answer a repeated `complete`. The service has all of them. */
const RECEIPTS_KEPT = 1000;

/** Refused samples and events kept for inspection. Refused claims and completions are all kept. */
const REFUSED_KEPT = 1000;

/** A completion that was set aside, without its proof. */
export interface SetAside extends Refusal {
  readonly task_id: string;
  /** Wall time at which it was accepted. */
  readonly wall_ms: number;
}

/** Completions set aside that the status lists, so that its answer stays short. */
const SET_ASIDE_SHOWN = 100;

/** Receipts and refused records. Every method runs inside the caller's transaction. */
export class Settled {
  readonly #sql;

  constructor(db: Database) {
    // No boot has the number 0, so that the wall time counts.
    const columns =
      'seq, kind, id, code, message, wall_ms wallMs, coalesce(boot, 0) boot, coalesce(mono_ms, 0) monoMs, body, outcome';
    this.#sql = {
      receipt: db.prepare<[string], { proof_hash: Hex; verification: string; task: string | null }>(
        'SELECT proof_hash, verification, task FROM receipts WHERE task_id = ?',
      ),
      receipts: db
        .prepare<[], string>('SELECT verification FROM receipts ORDER BY seq DESC')
        .pluck(),
      keepReceipt: db.prepare(
        `INSERT OR IGNORE INTO receipts (task_id, proof_hash, verification, task, settled_ms)
           VALUES (@taskId, @proofHash, @verification, (SELECT json_remove(answer, '$.occurred_at') FROM claims WHERE id = @taskId), @now)`,
      ),
      trimReceipts: db.prepare(
        `DELETE FROM receipts WHERE seq <= (SELECT max(seq) FROM receipts) - ${RECEIPTS_KEPT}`,
      ),
      refuse: db.prepare(
        `INSERT INTO refused (kind, id, code, message, wall_ms, body, boot, mono_ms, outcome)
           VALUES (@kind, @id, @code, @message, @wallMs, @body, @boot, @monoMs, @outcome)`,
      ),
      trimRefused: db.prepare(
        `DELETE FROM refused WHERE kind IN ('sample', 'event') AND seq <= (SELECT max(seq) FROM refused) - ${REFUSED_KEPT}`,
      ),
      refused: db.prepare<[number, number], RefusedRecord>(
        `SELECT ${columns} FROM refused WHERE seq > ? ORDER BY seq LIMIT ?`,
      ),
      setAside: db.prepare<[], SetAside>(
        `SELECT id AS task_id, code, message, wall_ms FROM refused
           WHERE kind = 'completion' ORDER BY seq DESC LIMIT ${SET_ASIDE_SHOWN}`,
      ),
      newest: db.prepare<[string, string], RefusedRecord>(
        `SELECT ${columns} FROM refused WHERE kind = ? AND id = ? ORDER BY seq DESC LIMIT 1`,
      ),
      newestBefore: db.prepare<[number, number], RefusedRecord>(
        `SELECT ${columns} FROM refused WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
      ),
      remove: db.prepare('DELETE FROM refused WHERE seq = ?'),
    };
  }

  /** Call it before the claim is removed: the receipt takes over the service's task. */
  keepReceipt(taskId: string, { proofHash, verification }: Settlement, now: number): void {
    const text = JSON.stringify(verification);
    this.#sql.keepReceipt.run({ taskId, proofHash, verification: text, now });
    this.#sql.trimReceipts.run();
  }

  receipt(taskId: string): Receipt | null {
    const row = this.#sql.receipt.get(taskId);
    if (row === undefined) return null;
    const { proof_hash: proofHash, verification, task } = row;
    return {
      proofHash,
      verification: JSON.parse(verification),
      task: task === null ? null : JSON.parse(task),
    };
  }

  /** Newest first. */
  receipts(): Verification[] {
    return this.#sql.receipts.all().map((text) => JSON.parse(text));
  }

  refuse(record: SpoolRecord, { code, message }: Refusal): void {
    this.#sql.refuse.run({ outcome: null, ...record, code, message });
    this.#sql.trimRefused.run();
  }

  /** Refused records after the number `after`, oldest first. */
  refused(most: number, after = 0): RefusedRecord[] {
    return this.#sql.refused.all(after, most);
  }

  /** The reason of the newest refused record of this kind and task; null if there is none. */
  refusalOf(kind: 'claim' | 'completion', id: string): Refusal | null {
    return this.#sql.newest.get(kind, id) ?? null;
  }

  /** Completions that were set aside, newest first. */
  setAside(): SetAside[] {
    return this.#sql.setAside.all();
  }

  /** Refused records before the number `before`, newest first. */
  refusedBefore(before: number, most: number): RefusedRecord[] {
    return this.#sql.newestBefore.all(before, most);
  }

  /** Removes the newest claim or completion of the task that was set aside, and returns it; null if there is none. */
  take(kind: 'claim' | 'completion', taskId: string): RefusedRecord | null {
    const record = this.#sql.newest.get(kind, taskId);
    if (record === undefined) return null;
    this.remove(record);
    return record;
  }

  remove({ seq }: RefusedRecord): void {
    this.#sql.remove.run(seq);
  }
}
