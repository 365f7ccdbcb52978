// The spool: what the robot handed over and the service does not have yet.
import { statSync } from 'node:fs';
import path from 'node:path';
import { newId } from '../../base/new-id.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Task } from '../../protocol/resources.ts';
import type { AgentClock } from '../clock.ts';
import { lockSpool, unusable } from './database.ts';
import { SpoolFile, type SpoolFileOptions, type Tables } from './file.ts';
import type { SpoolRecord, StoredRecord } from './records.ts';
import type { DamagedFile } from './recover.ts';
import type { Batch } from './samples.ts';
import { type Receipt, type Refusal, type Settlement, SettlementWaiters } from './settled.ts';
import type { Claim, Completion } from './tasks.ts';
import { SpoolWrites } from './writes.ts';

export interface SpoolOptions extends SpoolFileOptions {
  folder: string;
}

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
 * What the robot handed over and the service does not have yet. Claims and completions are durable before their
 * promise resolves, and are never dropped; samples and events are durable within half a second, and give
 * way to the budget. A damaged file is set aside, and what is whole in it is taken over.
 */
export class Spool {
  readonly #file: SpoolFile;
  readonly #clock: AgentClock;
  readonly #lock: { release(): void };
  readonly #writes: SpoolWrites;
  readonly #waiters = new SettlementWaiters();
  #onChange: () => void = () => {};

  constructor(options: SpoolOptions, lock: { release(): void }) {
    this.#clock = options.clock;
    this.#lock = lock;
    this.#file = new SpoolFile(path.join(options.folder, 'spool.db'), options);
    this.#writes = new SpoolWrites(this.#file, () => this.#onChange());
  }

  /** Called after each commit that brought something to deliver. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Durable when it resolves. `full` when the budget has no room, `completed` when the task is long done. */
  async claim(
    record: SpoolRecord,
  ): Promise<
    | { outcome: 'stored' | 'conflict' | 'full' }
    | { outcome: 'repeated'; claim: Claim }
    | { outcome: 'completed'; receipt: Receipt }
  > {
    const result = await this.#writes.write(({ tasks, settled }) => {
      const receipt = settled.receipt(record.id);
      if (receipt !== null) return { outcome: 'completed', receipt } as const;
      const claim = tasks.claim(record.id);
      if (claim !== null) {
        return claim.body === record.body
          ? ({ outcome: 'repeated', claim } as const)
          : ({ outcome: 'conflict' } as const);
      }
      if (!this.#writes.makeRoomForTask(record)) return { outcome: 'full' } as const;
      tasks.insertClaim(record);
      return { outcome: 'stored' } as const;
    }, record.body.length);
    if (result.outcome === 'stored') this.#onChange();
    return result;
  }

  /** Durable when it resolves. The first completion of a task stays. */
  async complete(
    record: SpoolRecord,
    proofHash: Hex,
  ): Promise<
    | { outcome: 'stored' | 'full' }
    | { outcome: 'in_progress'; completion: Completion }
    | { outcome: 'completed'; receipt: Receipt }
    | { outcome: 'claim_refused'; refusal: Refusal }
  > {
    const result = await this.#writes.write(({ tasks, settled }) => {
      const receipt = settled.receipt(record.id);
      if (receipt !== null) return { outcome: 'completed', receipt } as const;
      const completion = tasks.completion(record.id);
      if (completion !== null) return { outcome: 'in_progress', completion } as const;
      const refusal =
        tasks.claim(record.id) === null ? settled.refusalOf('claim', record.id) : null;
      if (refusal !== null) return { outcome: 'claim_refused', refusal } as const;
      if (!this.#writes.makeRoomForTask(record)) return { outcome: 'full' } as const;
      tasks.insertCompletion(record, proofHash);
      return { outcome: 'stored' } as const;
    }, record.body.length);
    if (result.outcome === 'stored') this.#onChange();
    return result;
  }

  /** Durable within half a second. @throws SvcError `spool_full` when nothing can be written now. */
  recordSamples(records: readonly SpoolRecord[]): void {
    this.#writes.insertSoon('sample', records, ({ samples }, record) => samples.insert(record));
  }

  /** Durable within half a second. @throws SvcError `spool_full` when nothing can be written now. */
  createEvent(record: SpoolRecord): void {
    this.#writes.insertSoon('event', [record], ({ events }) => events.insert(record));
  }

  findClaim(id: string): Claim | null {
    return this.#read(({ tasks }) => tasks.claim(id));
  }

  findCompletion(taskId: string): Completion | null {
    return this.#read(({ tasks }) => tasks.completion(taskId));
  }

  /** Why the completion of the task, or its claim, was refused; null when neither was. */
  findRefusal(taskId: string): Refusal | null {
    return this.#read(
      ({ settled }) =>
        settled.refusalOf('completion', taskId) ?? settled.refusalOf('claim', taskId),
    );
  }

  findReceipt(taskId: string): Receipt | null {
    return this.#read(({ settled }) => settled.receipt(taskId));
  }

  /** Resolves when the completion of the task has left the spool, or with the signal. */
  async waitForReceipt(taskId: string, enough: AbortSignal): Promise<void> {
    if (this.findCompletion(taskId) !== null) await this.#waiters.wait(taskId, enough);
  }

  /** Grows with each salvage, after which the numbers of samples, and so batches, are others. */
  get generation(): number {
    return this.#file.generation;
  }

  /** What is read of the tables, now. What is not committed yet is not there. */
  read<T>(work: (tables: Omit<Tables, 'db' | 'budget'>) => T): T {
    return this.#read(work);
  }

  /** Durable when it resolves. `work` may run twice and MUST change nothing but the tables. */
  update<T>(work: (tables: Omit<Tables, 'db' | 'budget'>) => T): Promise<T> {
    return this.#writes.write(work);
  }

  /** As `update`, with the next group; after a crash it may not have happened. */
  async updateSoon(work: (tables: Omit<Tables, 'db' | 'budget'>) => void): Promise<void> {
    await this.#writes.writeSoon(work);
  }

  /** The service has the claim. */
  async deliverClaim(id: string, answer: Task): Promise<void> {
    await this.#writes.write(({ tasks }) => tasks.deliver(id, answer));
  }

  /** The completion leaves, its receipt stays; whoever waits is told. */
  async settle(taskId: string, settlement: Settlement): Promise<void> {
    await this.#leave(taskId, ({ tasks, settled }) => {
      settled.keepReceipt(taskId, settlement, this.#clock.now().wallMs);
      tasks.removeClaim(taskId);
      tasks.removeCompletion(taskId);
    });
  }

  /** Sets aside a claim with its completion, or a completion, that the service will never take. */
  async refuseTask(record: StoredRecord, refusal: Refusal): Promise<void> {
    await this.#leave(record.id, (tables) => refuseTask(tables, record, refusal));
  }

  /** Sets aside an event that the service will never take. */
  async refuseEvent(record: StoredRecord, refusal: Refusal): Promise<void> {
    await this.#writes.write(({ settled, events }) => {
      settled.refuse(record, refusal);
      events.remove(record);
    });
  }

  /** Sets aside the samples of a batch, which is one where the service told which. */
  async refuseSamples(batch: Batch, refusal: Refusal): Promise<void> {
    const { generation } = this;
    await this.#writes.write(({ settled, samples }) => {
      if (generation !== this.generation) return;
      for (const record of samples.read(batch)) settled.refuse(record, refusal);
      samples.remove(batch);
    });
  }

  /** Turns what was dropped into an event that says so, if anything was. */
  async reportDropped(): Promise<void> {
    if (this.#read(({ state }) => state.dropped()) === null) return;
    const now = this.#clock.now();
    const id = newId();
    await this.#writes.write(({ state, events }) => {
      const dropped = state.dropped();
      if (dropped === null) return;
      const from = new Date(dropped.fromMs).toISOString();
      const to = new Date(dropped.toMs).toISOString();
      const body = JSON.stringify({
        event_type: 'telemetry_dropped',
        severity: 'warn',
        message: `The agent's spool was full: ${dropped.count} samples or events were dropped.`,
        payload: { count: dropped.count, from, to },
      });
      events.insert({ kind: 'event', id, ...now, body });
      state.forgetDropped();
    });
  }

  /** Halves of the batch, or null where it is a single sample. */
  halve(batch: Batch): Promise<[Batch, Batch] | null> {
    return this.#writes.write(({ samples }) => samples.halve(batch));
  }

  /** The damaged file that was last set aside, as long as there is room for it. */
  get damaged(): DamagedFile | null {
    return this.#file.damaged;
  }

  /** Bytes on the disk, those of the write-ahead log, of the reserve and of the damaged file counted. */
  bytesOnDisk(): number {
    const { path: main } = this.#file;
    const sizes = [main, `${main}-wal`].map(
      (file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0,
    );
    const beside = this.#file.reserve.bytes() + (this.damaged?.bytes ?? 0);
    return sizes.reduce((sum, size) => sum + size, beside);
  }

  /** Bytes that the records take, and that they may take. */
  room(): { used: number; capacity: number } {
    return this.#read(({ budget }) => ({ used: budget.used(), capacity: budget.capacity }));
  }

  /** Why nothing can be written now; null when all is well. */
  get failure(): unknown {
    return this.#writes.failure;
  }

  /** When all that waited was last written or tried, of `performance.now()`. */
  get progressAt(): number {
    return this.#writes.progressAt;
  }

  /** Returns the space of deleted records to the disk. Needs as much space again while it runs. @throws SvcError `spool_full` */
  compact(): void {
    this.#writes.compact();
  }

  /** Commits what is queued and releases the folder. */
  close(): void {
    this.#writes.close();
    this.#file.close();
    this.#lock.release();
  }

  /** Samples and events that were handed over and are not committed yet. */
  get uncommitted(): Readonly<Record<'sample' | 'event', number>> {
    return this.#writes.uncommitted;
  }

  async #leave(taskId: string, work: (tables: Tables) => void): Promise<void> {
    await this.#writes.write(work);
    this.#waiters.tell(taskId);
  }

  #read<T>(work: (tables: Tables) => T): T {
    return this.#file.withRecovery(work);
  }
}

function refuseTask({ tasks, settled }: Tables, record: StoredRecord, refusal: Refusal): void {
  settled.refuse(record, refusal);
  const completion = tasks.completion(record.id);
  tasks.removeCompletion(record.id);
  if (record.kind !== 'claim') return;
  tasks.removeClaim(record.id);
  if (completion !== null) settled.refuse(completion, refusal);
}
