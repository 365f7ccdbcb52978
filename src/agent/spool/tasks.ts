// The tables of claims and completions, and the queue of calls they need.
import type { Database } from 'better-sqlite3';
import type { Hex } from '../../proof/bytes.ts';
import { hashCanonicalText } from '../../proof/hash.ts';
import type { Task } from '../../protocol/resources.ts';
import {
  insertedColumns,
  insertedValues,
  type RecordRow,
  recordColumns,
  recordOf,
  type SpoolRecord,
  type StoredRecord,
  valuesOf,
} from './records.ts';
import { isUnsigned } from './statements.ts';

export interface Claim extends StoredRecord {
  /** The service's task; null until it has accepted the claim. */
  readonly answer: Task | null;
  /** Set if an earlier spool delivered the claim, perhaps with another time. */
  readonly occurredAtOfService?: string | null | undefined;
}

export interface Completion extends StoredRecord {
  readonly proofHash: Hex;
  /** `accepted`: the service has the proof and anchors it. */
  readonly state: 'queued' | 'accepted';
}

/** A call to make. `poll` asks for the state of an accepted completion. */
export interface TaskUpload {
  readonly kind: 'claim' | 'completion' | 'poll';
  readonly id: string;
}

interface ClaimRow extends RecordRow {
  answer: string | null;
}

interface CompletionRow extends RecordRow {
  proofHash: Hex;
  /** `blocked`: queued, but its claim is not delivered yet. */
  state: Completion['state'] | 'blocked';
}

/** Delivered claims kept without a completion, to answer repeated claims. */
const DELIVERED_KEPT = 1000;

/** Claims and completions. Every method runs inside the caller's transaction. */
export class TaskTable {
  readonly #sql;

  constructor(db: Database) {
    this.#sql = {
      insertClaim: db.prepare(
        `INSERT INTO claims (${insertedColumns}, state) VALUES (${insertedValues}, 'queued')`,
      ),
      insertCompletion: db.prepare(
        `INSERT INTO completions (${insertedColumns}, outcome, proof_hash, state) VALUES (${insertedValues}, @outcome, @proofHash,
             iif(EXISTS (SELECT 1 FROM claims WHERE id = @id AND state = 'queued'), 'blocked', 'queued'))`,
      ),
      claim: db.prepare<[string], ClaimRow>(
        `SELECT ${recordColumns}, answer FROM claims WHERE id = ?`,
      ),
      completion: db.prepare<[string], CompletionRow>(
        `SELECT ${recordColumns}, outcome, proof_hash proofHash, state FROM completions WHERE id = ?`,
      ),
      uploads: {
        completion: db.prepare<[number], string>(idsIn('completions', 'queued')).pluck(),
        claim: db.prepare<[number], string>(idsIn('claims', 'queued')).pluck(),
        poll: db.prepare<[number], string>(idsIn('completions', 'accepted')).pluck(),
      },
      pairs: db
        .prepare<[number], string>(
          `SELECT claims.id FROM claims JOIN completions ON completions.id = claims.id WHERE claims.state = 'queued'
             AND completions.state = 'blocked' AND ${isSigned('claims')} AND ${isSigned('completions')}
             ORDER BY claims.seq LIMIT ?`,
        )
        .pluck(),
      undelivered: db.prepare<[], Pick<TaskUpload, 'id'> & { kind: 'claim' | 'completion' }>(
        `SELECT kind, id FROM (SELECT kind, id, wall_ms, seq FROM claims WHERE state = 'queued'
           UNION ALL SELECT kind, id, wall_ms, seq FROM completions WHERE state <> 'accepted')
           ORDER BY wall_ms, kind, seq`,
      ),
      requeueClaim: db.prepare(
        "UPDATE claims SET state = 'queued', answer = NULL WHERE id = ? AND state = 'delivered'",
      ),
      move: db.prepare('UPDATE completions SET state = @to WHERE id = @id AND state = @from'),
      deliver: db.prepare("UPDATE claims SET state = 'delivered', answer = ? WHERE id = ?"),
      setState: db.prepare('UPDATE completions SET state = ? WHERE id = ?'),
      removeClaim: db.prepare('DELETE FROM claims WHERE id = ?'),
      removeCompletion: db.prepare('DELETE FROM completions WHERE id = ?'),
      trimClaims: db.prepare(
        `DELETE FROM claims WHERE state = 'delivered' AND seq <= (SELECT max(seq) FROM claims) - ${DELIVERED_KEPT}
           AND id NOT IN (SELECT id FROM completions)`,
      ),
      oldest: db.prepare<[], { claim: number | null; completion: number | null }>(
        `SELECT (SELECT wall_ms FROM claims WHERE state = 'queued' ORDER BY seq LIMIT 1) claim,
           (SELECT wall_ms FROM completions ORDER BY seq LIMIT 1) completion`,
      ),
    };
  }

  insertClaim(record: SpoolRecord): void {
    this.#sql.insertClaim.run(valuesOf(record));
    this.#sql.move.run({ id: record.id, from: 'queued', to: 'blocked' });
    this.#sql.trimClaims.run();
  }

  insertCompletion(record: SpoolRecord, proofHash = hashCanonicalText(record.body)): void {
    this.#sql.insertCompletion.run({ ...valuesOf(record), proofHash });
  }

  claim(id: string): Claim | null {
    const row = this.#sql.claim.get(id);
    if (row === undefined) return null;
    const { occurred_at: occurredAtOfService, ...answer } = JSON.parse(row.answer ?? '{}');
    return { ...recordOf(row), answer: row.answer === null ? null : answer, occurredAtOfService };
  }

  completion(id: string): Completion | null {
    const row = this.#sql.completion.get(id);
    if (row === undefined) return null;
    const state = row.state === 'accepted' ? 'accepted' : 'queued';
    return { ...recordOf(row), state };
  }

  /** Calls that can be made now: completions, claims, then polls, at most `most` of each. */
  uploads(most: number): TaskUpload[] {
    const kinds = ['completion', 'claim', 'poll'] as const;
    return kinds.flatMap((kind) => this.uploadsOf(kind, most));
  }

  /**
   * Calls of one kind that can be made now, oldest first. Completions wait until their claim is delivered, and signed work
   * for its signature.
   */
  uploadsOf(kind: TaskUpload['kind'], most: number): TaskUpload[] {
    return this.#sql.uploads[kind].all(most).map((id) => ({ kind, id }));
  }

  /** Tasks whose claim and completion can be sent in one call, in the order of the claims. */
  pairs(most: number): string[] {
    return this.#sql.pairs.all(most);
  }

  /** Claims and completions that the service does not have yet, in the order of their acceptance. */
  undelivered() {
    return this.#sql.undelivered.all();
  }

  /** `occurred_at`: what the service has, if an earlier spool delivered the claim. */
  deliver(id: string, answer: Task & { occurred_at?: string | null }): void {
    this.#sql.deliver.run(JSON.stringify(answer), id);
    this.#sql.move.run({ id, from: 'blocked', to: 'queued' });
  }

  accept(id: string): void {
    this.#sql.setState.run('accepted', id);
  }

  /** Queues a completion again that the service dropped without anchoring it. */
  requeue(id: string): void {
    this.#sql.setState.run('queued', id);
  }

  /**
   * Queues claim and completion again when the service has lost the task; false if the claim was not
   * delivered from here.
   */
  requeueTask(id: string): boolean {
    const { changes } = this.#sql.requeueClaim.run(id);
    if (changes > 0) this.#sql.setState.run('blocked', id);
    return changes > 0;
  }

  removeClaim(id: string): void {
    this.#sql.removeClaim.run(id);
  }

  removeCompletion(id: string): void {
    this.#sql.removeCompletion.run(id);
  }

  /** Wall times at which the oldest queued claim and the oldest completion were accepted; null without any. */
  oldestMs() {
    return this.#sql.oldest.get() ?? { claim: null, completion: null };
  }
}

function idsIn(table: 'claims' | 'completions', state: Completion['state']): string {
  const only = state === 'queued' ? `AND ${isSigned(table)}` : '';
  return `SELECT id FROM ${table} WHERE state = '${state}' ${only} ORDER BY seq LIMIT ?`;
}

/** False while the record of a robot that signs its work waits for its signature. */
function isSigned(table: 'claims' | 'completions'): string {
  const type = table === 'claims' ? 'claim' : 'result';
  return `NOT EXISTS (SELECT 1 FROM statements s WHERE s.id = ${table}.id AND s.type = '${type}' AND ${isUnsigned})`;
}
