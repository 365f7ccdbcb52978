// What answers about claims and completions mean for the spool and for later calls.
import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import type { Verification } from '../../protocol/resources.ts';
import type { Answer, Body } from '../../protocol/routes.ts';
import { utcOf } from '../../protocol/timestamp.ts';
import type { StoredPromise } from '../spool/promises.ts';
import type { SpoolRecord } from '../spool/records.ts';
import type { Spool } from '../spool/spool.ts';
import type { Claim, Completion } from '../spool/tasks.ts';
import type { BatchedCall, BatchItem } from './answers.ts';
import type { Promises } from './promises.ts';
import { isLost, retryAfterMs, verdictOf } from './retry.ts';
import type { ServiceClient } from './service-client.ts';
import { Uploads } from './uploads.ts';

const CREDITS = 'credits';

type TaskOfService = Answer<'getTask'>['body']['task'];

export interface TaskUploadsOptions {
  readonly promises: Promises;
  readonly onStatementRequired: () => void;
}

/** A task in a batch: its claim, its completion, or both. */
export type Work =
  | { readonly claim: Claim; readonly completion: null }
  | { readonly claim: Claim | null; readonly completion: Completion };

/** Handles answers to single calls and to the items of a batch alike. */
export abstract class TaskAnswers extends Uploads {
  protected readonly options: TaskUploadsOptions;
  /** Tasks whose completions this process sent before the robot had a key: the service may have accepted them unsigned. */
  protected readonly sentUnsigned = new Set<string>();
  #withoutCredits: string | null = null;

  constructor(spool: Spool, service: ServiceClient, logger: Logger, options: TaskUploadsOptions) {
    super(spool, service, logger);
    this.options = options;
  }

  /** Code of the refusal while completions wait for credits or for the chain; null otherwise. */
  get withoutCredits(): string | null {
    return this.#withoutCredits;
  }

  /** Milliseconds until a completion may be sent that finds out whether there are credits; 0 with credits. */
  protected creditsWaitMs(isProbing: boolean): number {
    if (this.#withoutCredits === null) return 0;
    return isProbing ? this.service.pauses.credits.firstMs : this.retries.waitMs(CREDITS);
  }

  /** The answer to a batch about one of its tasks. `startedAt`: when the batch was sent. */
  protected async itemAnswered(
    { claim, completion }: Work,
    item: BatchItem,
    promise: string | undefined,
    startedAt: number,
  ): Promise<void> {
    const read = <Name extends BatchedCall>(
      name: Name,
      part: BatchItem,
      record: Claim | Completion,
      isOwn: (answer: Answer<Name>) => boolean,
    ) => {
      const answer = this.service.read(name, part, isOwn);
      if (!(answer instanceof SvcError) || isProgress(answer, record)) return answer;
      this.service.failed(name, answer, startedAt);
      // Without the task, it is not known whether the service refuses the claim or the completion.
      const isShared = completion !== null && item.body.task === undefined && claim !== null;
      this.note(named(record), answer, startedAt, isShared);
      return answer;
    };
    const isOwnClaim = ({ body }: Answer<'createTask'>) => body.task.id === claim?.id;
    if (completion === null) {
      return this.claimAnswered(claim, read('createTask', item, claim, isOwnClaim));
    }
    if (claim !== null) {
      const part = item.body.task === undefined ? item : { ...item, status: 201 };
      const claimed = read('createTask', part, completion, isOwnClaim);
      if (claimed instanceof SvcError) return this.failed(completion, claimed);
      await this.claimAnswered(claim, claimed);
    }
    const body = promise === undefined ? item.body : { ...item.body, promise };
    const part = { ...item, body };
    const answer = read('completeTask', part, completion, (one) => isOwnResult(completion, one));
    await this.completionAnswered(completion, answer);
  }

  protected async claimAnswered(
    claim: Claim,
    answer: Answer<'createTask'> | SvcError,
  ): Promise<void> {
    if (!(answer instanceof SvcError)) {
      await this.spool.deliverClaim(claim.id, answer.body.task);
      this.done(nameOf(claim));
    } else if (answer.code === 'id_conflict') {
      await this.#conflicting(claim, answer);
    } else {
      await this.failed(claim, answer);
    }
  }

  protected async completionAnswered(
    completion: Completion,
    answer: Answer<'completeTask'> | SvcError,
  ): Promise<void> {
    if (answer instanceof SvcError) return this.#completionFailed(completion, answer);
    this.#hasCredits();
    if (answer.status === 200) return this.settle(completion, answer.body.verification);
    const { promise } = answer.body;
    if (promise === undefined) return this.#accepted(completion);
    await this.#accepted(completion, 0, await this.options.promises.arrived(completion, promise));
  }

  /**
   * The id is in use. If the service's task has the content of the claim, an earlier spool of this robot
   * delivered it.
   */
  async #conflicting(claim: Claim, conflict: SvcError): Promise<void> {
    const answer = await this.read(claim);
    if (answer instanceof SvcError) {
      // The claim is refused only if the service says that the task is another caller's.
      return this.failed(claim, answer.code === 'not_found' ? conflict : answer);
    }
    const { task } = answer.body;
    if (!isSameClaim(JSON.parse(claim.body), task)) return this.failed(claim, conflict);
    const { id, title, description, status, created_at, occurred_at } = task;
    const known = { id, title, description, status, created_at, occurred_at };
    await this.spool.deliverClaim(claim.id, known);
    this.done(nameOf(claim));
  }

  async #completionFailed(completion: Completion, error: SvcError): Promise<void> {
    const { verification } = error.details as { verification?: Verification };
    switch (error.code) {
      case 'already_completed':
        this.#hasCredits();
        if (verification !== undefined) return this.settle(completion, verification);
        return this.#accepted(completion);
      case 'completion_in_progress':
        this.#hasCredits();
        return this.#accepted(completion, retryAfterMs(error));
      case 'not_found':
        return this.unknownTask(completion, error);
      default:
        return this.failed(completion, error);
    }
  }

  /** If the service was restored to a time before the claim, claim and completion are queued again. */
  protected async unknownTask(completion: Completion, error: SvcError): Promise<void> {
    const { id } = completion;
    const isOwn = await this.spool.update(({ tasks }) => tasks.requeueTask(id));
    if (!isOwn) return this.failed(completion, error);
    this.logger.warn({ task: id }, 'task unknown to the service, queued again');
    this.retries.failed(nameOf(completion), this.service.pauses.usual);
  }

  protected read(record: Claim | Completion): Promise<Answer<'getTask'> | SvcError> {
    const { id } = record;
    return this.ask(
      'getTask',
      () => ({ params: { id } }),
      [named(record)],
      ({ body }) => body.task.id === id,
    );
  }

  async #accepted(completion: Completion, waitMs = 0, promise: StoredPromise | null = null) {
    const name = nameOf(completion);
    if (completion.state === 'accepted' && promise === null) {
      await this.options.promises.unanchored(completion, this.service.nowMs);
    } else {
      await this.spool.accept(completion.id, promise);
      this.done(name);
    }
    this.retries.failed(name, this.service.pauses.poll, waitMs);
  }

  /** The completion leaves the spool only with the receipt of its own proof and statement. */
  protected async settle(completion: Completion, verification: Verification): Promise<void> {
    const { id, proofHash } = completion;
    if (isReceiptOf(completion, verification)) {
      if (!this.#hasStatement(completion, verification)) return this.#lacksStatement(completion);
      await this.spool.settle(id, { proofHash, verification });
      this.sentUnsigned.delete(id);
      return this.done(nameOf(completion));
    }
    await this.failed(
      completion,
      new SvcError(
        'already_completed',
        `The task was completed with another proof: ${verification.proof_hash}.`,
      ),
    );
  }

  /** Whether the receipt names a statement that the agent signed about the completion; it need not if there is none. */
  #hasStatement({ id, proofHash }: Completion, verification: Verification): boolean {
    const own = this.spool.read(({ statements }) => statements.resultHashes(id, proofHash));
    if (own.length === 0) return true;
    if (!('statement_hash' in verification)) return this.sentUnsigned.has(id);
    return own.includes(verification.statement_hash as Hex);
  }

  #lacksStatement({ kind, id }: Completion): void {
    const code = 'receipt_without_statement';
    const message = 'The receipt does not name the statement that the robot signed.';
    const name = nameOf({ kind, id });
    this.logger.error({ task: id, code, reason: message }, 'receipt not accepted');
    this.note({ kind, id, name }, new SvcError(code, message), performance.now());
    this.retries.failed(name, this.service.pauses.usual);
  }

  protected async failed(record: Claim | Completion, error: SvcError): Promise<void> {
    const verdict = verdictOf(error);
    if (this.isFinal(nameOf(record), error)) return this.#refuse(record, error);
    if (verdict === 'credits') {
      if ('state' in record && record.state === 'accepted') {
        this.retries.failed(nameOf(record), this.service.pauses.poll);
      }
      return this.#outOfCredits(error);
    }
    // Failures of key and connection pause all uploads. The record gets a pause of its own only if it may be the cause.
    if ((verdict === 'link' && !isLost(error)) || verdict === 'key') return;
    const isUnsigned = error.code === 'statement_required';
    if (isUnsigned) this.options.onStatementRequired();
    const range = isUnsigned ? this.service.pauses.poll : this.service.retryRange(error);
    this.retries.failed(nameOf(record), range, retryAfterMs(error));
  }

  async #refuse(record: Claim | Completion, { code, message }: SvcError): Promise<void> {
    this.logger.error({ task: record.id, code, reason: message }, `${record.kind} set aside`);
    await this.spool.refuseTask(record, { code, message });
    this.done(nameOf(record));
    // A refused claim takes its completion along.
    if (record.kind === 'claim') this.done(nameOf({ kind: 'completion', id: record.id }));
  }

  #outOfCredits(error: SvcError): void {
    if (this.#withoutCredits !== error.code)
      this.logger.error({ code: error.code, reason: error.message }, 'completions paused');
    this.#withoutCredits = error.code;
    // A batch has as many refusals as items, which are one failure.
    if (this.retries.waitMs(CREDITS) > 0) return;
    this.retries.failed(CREDITS, this.service.pauses.credits, retryAfterMs(error));
  }

  #hasCredits(): void {
    this.#withoutCredits = null;
    this.retries.succeeded(CREDITS);
  }
}

/** The name under which failures are counted. Those of a completion outlast the delivery of its claim. */
export function nameOf({ kind, id }: Pick<SpoolRecord, 'id'> & { kind: string }): string {
  return `${kind === 'claim' ? 'claim' : 'completion'} ${id}`;
}

export function named<T extends Claim | Completion>(record: T): T & { name: string } {
  return { ...record, name: nameOf(record) };
}

export function isReceiptOf({ id, proofHash }: Completion, verification: Verification): boolean {
  return verification.proof_hash === proofHash && verification.task_id === id;
}

export function isOwnResult(
  completion: Completion,
  { status, body }: Answer<'completeTask'>,
): boolean {
  return status === 200
    ? isReceiptOf(completion, body.verification)
    : body.proof_hash === completion.proofHash;
}

/** Whether the service says that it anchors the completion, or has anchored it: no failure. */
function isProgress({ code, details }: SvcError, record: Claim | Completion): boolean {
  if (!('proofHash' in record)) return false;
  const { verification } = details as { verification?: Verification };
  if (code !== 'already_completed') return code === 'completion_in_progress';
  return verification === undefined || isReceiptOf(record, verification);
}

function isSameClaim(wanted: Omit<Body<'createTask'>, 'id'>, task: TaskOfService): boolean {
  return (
    (wanted.occurred_at === undefined || utcOf(wanted.occurred_at) === task.occurred_at) &&
    task.title === wanted.title &&
    task.description === (wanted.description ?? null) &&
    canonicalJson(task.expected_result) === canonicalJson(wanted.expected_result ?? null)
  );
}
