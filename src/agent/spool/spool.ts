// The spool: records that the robot handed over and the service does not have yet.
import { statSync } from 'node:fs';
import path from 'node:path';
import { v7 as newId } from 'uuid';
import { Triggers } from '../../base/async/triggers.ts';
import { sqliteErrorKind } from '../../base/sqlite.ts';
import type { Hex } from '../../proof/bytes.ts';
import { hashCanonicalText } from '../../proof/hash.ts';
import type { TaskContent } from '../../proof/statements/statement.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import { limits } from '../../protocol/limits.ts';
import type { Task } from '../../protocol/resources.ts';
import type { Body } from '../../protocol/routes.ts';
import type { AgentClock } from '../clock.ts';
import { agentError } from '../errors.ts';
import { lockSpool, unusable } from './database.ts';
import { SpoolFile, type SpoolFileOptions } from './file.ts';
import { contentOf, numberRecord, statementAbout } from './numbering.ts';
import type { PromiseProblem, StoredPromise } from './promises.ts';
import type { SpoolRecord, StoredRecord } from './records.ts';
import type { DamagedFile } from './recover.ts';
import type { Batch } from './samples.ts';
import type { Receipt, Refusal, RefusedRecord, Settlement } from './settled.ts';
import { STATEMENT_BYTES, type StoredStatement } from './statements.ts';
import type { RecordTables } from './tables.ts';
import type { Claim, Completion } from './tasks.ts';
import { GroupWriter } from './writes.ts';

/** Records moved in one commit, to keep the write-ahead log short. */
const RESENT_AT_ONCE = 3;

export interface SpoolOptions extends SpoolFileOptions {
  folder: string;
}

/** Records numbered in one commit, to keep the write-ahead log short. */
const NUMBERED_AT_ONCE = 50;

/** @throws SvcError `spool_locked`, `spool_unusable` */
export function openSpool(options: SpoolOptions): Spool {
  const lock = lockSpool(options.folder);
  try {
    return new Spool(options, lock);
  } catch (error) {
    lock.release();
    throw unusable(options.folder, error);
  }
}

/**
 * Claims and completions are durable when their promise resolves, and are never dropped. Samples and events
 * are durable within half a second, and are thinned and dropped when the budget is full. A damaged file is set
 * aside and its undamaged records are recovered.
 */
export class Spool {
  readonly #file: SpoolFile;
  readonly #clock: AgentClock;
  readonly #lock: { release(): void };
  readonly #groups: GroupWriter;
  readonly #uncommitted = { samples: 0, events: 0 };
  /** By id of a task whose completion left the spool. */
  readonly #settled = new Triggers();
  readonly #listeners: (() => void)[] = [];

  constructor(options: SpoolOptions, lock: { release(): void }) {
    this.#clock = options.clock;
    this.#lock = lock;
    this.#file = new SpoolFile(path.join(options.folder, 'spool.db'), options);
    this.#groups = new GroupWriter((work) => this.#file.commit(work));
  }

  /** Called after each commit that added something to deliver or to sign. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #onChange(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Durable when it resolves. `full`: the budget has no room. `completed`: the task has its receipt. */
  async claim(record: SpoolRecord) {
    const result = await this.update(({ tasks, settled }) => {
      const receipt = settled.receipt(record.id);
      if (receipt !== null) return { outcome: 'completed', receipt } as const;
      const claim = tasks.claim(record.id);
      if (claim !== null) {
        return claim.body === record.body
          ? ({ outcome: 'repeated', claim } as const)
          : ({ outcome: 'conflict' } as const);
      }
      if (!this.#makeRoomForTask(record)) return { outcome: 'full' } as const;
      tasks.insertClaim(record);
      this.#number(record);
      return { outcome: 'stored' } as const;
    }, record.body.length);
    if (result.outcome === 'stored') this.#onChange();
    return result;
  }

  /** Durable when it resolves. Only the first completion of a task is accepted. */
  async complete(record: SpoolRecord, proofHash: Hex) {
    const result = await this.update(({ tasks, settled }) => {
      const receipt = settled.receipt(record.id);
      if (receipt !== null) return { outcome: 'completed', receipt } as const;
      const completion = tasks.completion(record.id);
      if (completion !== null) return { outcome: 'in_progress', completion } as const;
      const refusal =
        tasks.claim(record.id) === null ? settled.refusalOf('claim', record.id) : null;
      if (refusal !== null) return { outcome: 'claim_refused', refusal } as const;
      if (!this.#makeRoomForTask(record)) return { outcome: 'full' } as const;
      tasks.insertCompletion(record, proofHash);
      this.#number(record);
      return { outcome: 'stored' } as const;
    }, record.body.length);
    if (result.outcome === 'stored') this.#onChange();
    return result;
  }

  /** The statement about this claim or completion by the key in use; null without one. */
  findStatement(record: Claim | Completion): StoredStatement | null {
    return this.read((tables) => statementAbout(tables, record));
  }

  /** Numbers a claim or completion that has no statement. False if the content of its task is not known. */
  async number(record: Claim | Completion, content?: TaskContent): Promise<boolean> {
    const isNumbered = await this.update(() => this.#number(record, content));
    this.#onChange();
    return isNumbered;
  }

  /** Numbers all that the service does not have, in the order in which it was accepted. */
  async numberBacklog(): Promise<void> {
    const backlog = this.read(({ tasks }) => tasks.undelivered());
    for (let at = 0; at < backlog.length; at += NUMBERED_AT_ONCE) {
      const some = backlog.slice(at, at + NUMBERED_AT_ONCE);
      await this.update(() => {
        for (const record of some) this.#number(record);
      });
      this.#onChange();
    }
  }

  /** Keeps signatures in base64url. Durable when it resolves. */
  async keepSignatures(signed: readonly (readonly [StoredStatement, string])[]): Promise<void> {
    await this.update(({ statements }) => {
      for (const [statement, signature] of signed) statements.sign(statement, signature);
    });
    this.#onChange();
  }

  /** Durable within half a second. @throws SvcError `spool_full` when nothing can be written now */
  recordSamples(records: readonly SpoolRecord[]): void {
    this.#insertSoon('samples', records);
  }

  /** Durable within half a second. @throws SvcError `spool_full` when nothing can be written now */
  createEvent(record: SpoolRecord): void {
    this.#insertSoon('events', [record]);
  }

  /** Keeps a sample that was not accepted, with the next group of writes, if there is room. */
  setAsideSample(record: SpoolRecord, refusal: Refusal): void {
    const { body } = record;
    void this.updateSoon(({ settled }) => {
      if (this.#makeRoom(body.length)) settled.refuse(record, refusal);
    });
  }

  findClaim(id: string): Claim | null {
    return this.read(({ tasks }) => tasks.claim(id));
  }

  findCompletion(taskId: string): Completion | null {
    return this.read(({ tasks }) => tasks.completion(taskId));
  }

  /** Why the service refused the completion of the task or its claim; null if it refused neither. */
  findRefusal(taskId: string): Refusal | null {
    return this.read(
      ({ settled }) =>
        settled.refusalOf('completion', taskId) ?? settled.refusalOf('claim', taskId),
    );
  }

  findReceipt(taskId: string): Receipt | null {
    return this.read(({ settled }) => settled.receipt(taskId));
  }

  /** Resolves when the completion of the task has left the spool, or when the signal aborts. */
  async waitForReceipt(taskId: string, enough: AbortSignal): Promise<void> {
    if (this.findCompletion(taskId) !== null) await this.#settled.wait(taskId, enough);
  }

  /** Counts recoveries. Each one renumbers the samples and dissolves the batches. */
  get generation(): number {
    return this.#file.generation;
  }

  /** Reads committed records. */
  read<T>(work: (tables: RecordTables) => T): T {
    return this.#file.withRecovery(work);
  }

  /**
   * Durable when it resolves. Rejects with `spool_full` when the file cannot be written. `work` may run more than once
   * and MUST change nothing but the tables. `bytes`: the size of what it inserts.
   */
  async update<T>(work: (tables: RecordTables) => T, bytes = 0): Promise<T> {
    try {
      return await this.#groups.write(() => work(this.#file.tables), bytes);
    } catch (error) {
      throw writeError(error);
    }
  }

  /** Like `update`, but with the next group. A crash before its commit undoes it. */
  async updateSoon(work: (tables: RecordTables) => void): Promise<void> {
    await this.#groups.writeSoon(() => work(this.#file.tables));
  }

  /** The service has accepted the claim. */
  async deliverClaim(id: string, answer: Task & { occurred_at?: string | null }): Promise<void> {
    await this.update(({ tasks }) => tasks.deliver(id, answer));
  }

  /** The service has the completion and anchors it. Keeps what it promised. */
  async accept(id: string, promise: StoredPromise | null): Promise<void> {
    await this.update(({ tasks }) => {
      tasks.accept(id);
      if (promise !== null) this.#keepPromise(id, promise);
    });
  }

  /** Keeps the promise about a completion in the spool, and reports what is wrong with it. */
  async keepPromise(id: string, promise: StoredPromise): Promise<void> {
    await this.update(() => this.#keepPromise(id, promise));
  }

  /** Reports a problem with the promise about a completion; false if it was reported before. */
  notePromiseProblem(id: string, problem: PromiseProblem): Promise<boolean> {
    return this.update(({ promises }) => {
      const isNew = promises.noteProblem(id, problem);
      if (isNew) this.#reportProblem(id, problem);
      return isNew;
    });
  }

  /** What the service has, or will have, of a task that this machine claimed; null if it is not known. */
  contentOf(taskId: string): TaskContent | null {
    return this.read((tables) => contentOf(tables, taskId));
  }

  /** The completion leaves, its receipt is kept, and waiting callers continue. */
  async settle(taskId: string, settlement: Settlement): Promise<void> {
    await this.#leave(taskId, ({ tasks, settled, promises }) => {
      settled.keepReceipt(taskId, settlement, this.#clock.now().wallMs);
      promises.forget(taskId);
      tasks.removeClaim(taskId);
      tasks.removeCompletion(taskId);
    });
  }

  /** Sets aside a refused completion, or a refused claim with its completion. An event reports other evidence for a completed task. */
  async refuseTask(record: StoredRecord, refusal: Refusal): Promise<void> {
    await this.#leave(record.id, ({ tasks, settled }) => {
      settled.refuse(record, refusal);
      const completion = tasks.completion(record.id);
      tasks.removeCompletion(record.id);
      if (completion !== null && refusal.code === 'already_completed') {
        const { id, proofHash } = completion;
        const message = `Task ${id} was completed with other evidence before. The agent keeps the later one: svc-agent spool export`;
        const payload = { task_id: id, proof_hash: proofHash };
        this.#report({ event_type: 'evidence_set_aside', severity: 'error', message, payload });
      }
      if (record.kind !== 'claim') return;
      tasks.removeClaim(record.id);
      if (completion !== null) settled.refuse(completion, refusal);
    });
  }

  /** Sets aside a refused event. */
  async refuseEvent(record: StoredRecord, refusal: Refusal): Promise<void> {
    await this.update(({ settled, events }) => {
      settled.refuse(record, refusal);
      events.remove(record);
    });
  }

  /** Sets aside the samples of a batch. It holds one sample if the service refused just that. */
  async refuseSamples(batch: Batch, refusal: Refusal): Promise<void> {
    const { generation } = this;
    await this.update(({ settled, samples }) => {
      if (generation !== this.generation) return;
      for (const record of samples.read(batch)) settled.refuse(record, refusal);
      samples.remove(batch);
    });
  }

  /** Queues the newest completion of a task that was set aside as that of another task. Durable when it resolves. */
  async retargetCompletion(
    taskId: string,
    newTaskId: string,
  ): Promise<{ proofHash: Hex } | 'absent' | 'in_use'> {
    const now = this.#clock.now();
    const outcome = await this.update(({ tasks, settled, promises }) => {
      const isUsed = tasks.completion(newTaskId) !== null || settled.receipt(newTaskId) !== null;
      if (isUsed) return 'in_use' as const;
      const aside = settled.take('completion', taskId);
      if (aside === null) return 'absent' as const;
      promises.forget(taskId);
      const { body, outcome } = aside;
      const proofHash = hashCanonicalText(body);
      // The completion needs its claim.
      const claim = tasks.claim(newTaskId) === null ? settled.take('claim', newTaskId) : null;
      if (claim !== null) tasks.insertClaim(claim);
      const record = { kind: 'completion' as const, id: newTaskId, ...now, body, outcome };
      tasks.insertCompletion(record, proofHash);
      return { proofHash };
    });
    if (typeof outcome === 'object') this.#onChange();
    return outcome;
  }

  /** Deletes the newest completion of a task that was set aside, and returns it; null if there is none. */
  dropCompletion(taskId: string): Promise<RefusedRecord | null> {
    return this.update(({ settled, promises }) => {
      promises.forget(taskId);
      return settled.take('completion', taskId);
    });
  }

  /**
   * Queues every record that was set aside, with its own id and time, and returns how many. Of several completions of a
   * task, the newest is queued. Those of a task that has a receipt or another completion stay set aside, and
   * samples that JSON parsers would change.
   */
  async resendSetAside(): Promise<number> {
    let before = Number.MAX_SAFE_INTEGER;
    for (let count = 0; ; ) {
      const page = this.read(({ settled }) => settled.refusedBefore(before, RESENT_AT_ONCE));
      const last = page.at(-1);
      if (last === undefined) return count;
      before = last.seq;
      const bytes = page.reduce((sum, { body }) => sum + body.length, 0);
      count += await this.update(() => page.filter((record) => this.#resend(record)).length, bytes);
      this.#onChange();
    }
  }

  /** Inside a write: moves a record that was set aside into its queue; false if another one is in its place. */
  #resend(record: RefusedRecord): boolean {
    const { tasks, samples, events, settled } = this.#file.tables;
    const { kind, id, body } = record;
    const isTask = kind === 'claim' || kind === 'completion';
    const another = kind === 'claim' ? tasks.claim(id) : tasks.completion(id);
    if (isTask && (another !== null || settled.receipt(id) !== null)) return false;
    if (kind === 'sample' && !isStrictJson(body)) return false;
    settled.remove(record);
    if (kind === 'claim') tasks.insertClaim(record);
    else if (kind === 'completion') tasks.insertCompletion(record);
    else if (kind === 'sample') samples.insert(record);
    else events.insert(record);
    return true;
  }

  /** Turns noted drops into an event for the service. */
  async reportDropped(): Promise<void> {
    if (this.read(({ state }) => state.dropped()) === null) return;
    await this.update(({ state }) => {
      const dropped = state.dropped();
      if (dropped === null) return;
      const from = new Date(dropped.fromMs).toISOString();
      const to = new Date(dropped.toMs).toISOString();
      const message = `The agent's spool was full: ${dropped.count} samples or events were dropped.`;
      const payload = { count: dropped.count, from, to };
      this.#report({ event_type: 'telemetry_dropped', severity: 'warn', message, payload });
      state.forgetDropped();
    });
  }

  /** The damaged file that was set aside last, until its space is needed. */
  get damaged(): DamagedFile | null {
    return this.#file.damaged;
  }

  /** Bytes on the disk, including the write-ahead log, the reserve and the damaged file. */
  bytesOnDisk(): number {
    const { path: main } = this.#file;
    const sizes = [main, `${main}-wal`].map(
      (file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0,
    );
    const beside = this.#file.reserve.bytes() + (this.damaged?.bytes ?? 0);
    return sizes.reduce((sum, size) => sum + size, beside);
  }

  /** Bytes of the records, and their limit. */
  room(): { used: number; capacity: number } {
    return this.#file.withRecovery(({ budget }) => ({
      used: budget.used(),
      capacity: budget.capacity,
    }));
  }

  /** Why nothing can be written now; null otherwise. */
  get failure(): unknown {
    return this.#groups.failure;
  }

  /** Whether new records must fit into the free pages of the file. */
  get isDiskFull(): boolean {
    return !this.#file.reserve.hold();
  }

  /** The `performance.now()` of the last try to commit, or of now if the queue is empty. */
  get progressAt(): number {
    return this.#groups.progressAt;
  }

  /** Returns the space of deleted records to the disk. Needs that much space again. @throws SvcError `spool_full` */
  compact(): void {
    this.#groups.flush();
    try {
      this.#file.withRecovery(({ db }) => {
        db.exec('VACUUM');
        db.pragma('wal_checkpoint(TRUNCATE)');
      });
    } catch (error) {
      throw writeError(error);
    }
  }

  /** Commits what is queued and releases the folder. */
  close(): void {
    this.#groups.flush();
    this.#groups.stop();
    this.#file.close();
    this.#lock.release();
  }

  /** Samples and events that are accepted and not committed yet. */
  get uncommitted(): Readonly<Record<'samples' | 'events', number>> {
    return this.#uncommitted;
  }

  async #leave(taskId: string, work: (tables: RecordTables) => void): Promise<void> {
    await this.update(work);
    this.#settled.wake(taskId);
  }

  #insertSoon(table: 'samples' | 'events', records: readonly SpoolRecord[]): void {
    if (this.failure !== null) throw writeError(this.failure);
    const bytes = records.reduce((sum, { body }) => sum + body.length, 0);
    const cost = bytes + records.length * 100;
    const fits = () => this.#file.withRecovery(({ budget }) => budget.hasRoomInside(cost));
    if (this.isDiskFull && !fits()) throw diskFull();
    const work = () => {
      this.#makeRoom(cost);
      for (const record of records) this.#file.tables[table].insert(record);
    };
    this.#uncommitted[table] += records.length;
    void this.#groups.writeSoon(work, bytes).then(() => {
      this.#uncommitted[table] -= records.length;
      this.#onChange();
    });
  }

  /** Inside a write: numbers a claim or completion if the robot has a key in use. A result follows its claim. */
  #number({ kind, id }: Pick<SpoolRecord, 'kind' | 'id'>, content?: TaskContent): boolean {
    const { tables } = this.#file;
    const { tasks, statements } = tables;
    if (statements.key() === null) return false;
    const clock = this.#clock;
    const claim = tasks.claim(id);
    const isClaimNumbered = claim?.answer === null && numberRecord(tables, claim, clock);
    if (kind === 'claim') return isClaimNumbered;
    const completion = tasks.completion(id);
    return completion !== null && numberRecord(tables, completion, clock, content);
  }

  /** Inside a write: keeps the promise if there is room. */
  #keepPromise(id: string, promise: StoredPromise): void {
    const hasRoom = this.#makeRoom(promise.text?.length ?? 0);
    const isNew = hasRoom && this.#file.tables.promises.keep(id, promise);
    if (isNew && promise.problem !== null) this.#reportProblem(id, promise.problem);
  }

  #reportProblem(taskId: string, { code, message }: PromiseProblem): void {
    const severity = code === 'promise_times' ? 'warn' : 'error';
    this.#report({ event_type: code, severity, message, payload: { task_id: taskId } });
  }

  /** Inside a write: an event tells the admins of the robot. */
  #report(event: Body<'createEvent'>): void {
    const body = JSON.stringify(event);
    this.#file.tables.events.insert({ kind: 'event', id: newId(), ...this.#clock.now(), body });
  }

  /** Inside a write: makes room for a claim or completion; false when claims and completions fill their share. */
  #makeRoomForTask({ body }: SpoolRecord): boolean {
    const { budget, totals, statements } = this.#file.tables;
    const bytes = Buffer.byteLength(body) + (statements.key() === null ? 0 : STATEMENT_BYTES);
    return budget.allowsTask(totals.taskBytes(), bytes) && this.#makeRoom(bytes);
  }

  /** Removes the damaged file, then drops telemetry, until there is room; false when nothing is left to drop. */
  #makeRoom(bytes: number): boolean {
    const { budget, samples, events, state } = this.#file.tables;
    const canGrow = this.#file.reserve.hold();
    while (!budget.hasRoomFor(bytes) || !(canGrow || budget.hasRoomInside(bytes))) {
      if (this.#file.removeDamaged()) continue;
      const dropped = samples.makeRoom() ?? events.makeRoom();
      if (dropped === null) return false;
      state.noteDropped(dropped);
    }
    return true;
  }
}

function writeError(error: unknown) {
  return sqliteErrorKind(error) === null ? error : diskFull(error);
}

export function diskFull(cause?: unknown) {
  const hint = 'Free disk space.';
  return agentError('spool_full', 'Cannot write the spool now; the disk may be full.', {
    hint,
    cause,
  });
}

function isStrictJson(text: string): boolean {
  try {
    parseStrictJson(text, { maxDepth: limits.documentDepth + 1, numbers: 'round' });
    return true;
  } catch {
    return false;
  }
}
