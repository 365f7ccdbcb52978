// Delivers claims and completions, and fetches receipts.
import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import type { Proof } from '../../proof/json-value.ts';
import type { TaskContent } from '../../proof/statements/statement.ts';
import type { Verification } from '../../protocol/resources.ts';
import type { Answer, Body } from '../../protocol/routes.ts';
import { utcOf } from '../../protocol/timestamp.ts';
import type { StoredPromise } from '../spool/promises.ts';
import type { SpoolRecord } from '../spool/records.ts';
import type { Spool } from '../spool/spool.ts';
import type { StoredStatement } from '../spool/statements.ts';
import type { Claim, Completion, TaskUpload } from '../spool/tasks.ts';
import { bodyOf } from './clock-correction.ts';
import type { Promises } from './promises.ts';
import { isLost, retryAfterMs, verdictOf } from './retry.ts';
import type { ServiceClient } from './service-client.ts';
import { firstOf, type NextCall, type NextCalls, Uploads } from './uploads.ts';

/** Calls under way at once, by kind. Completions may wait for a block. */
const PARALLEL = { completion: 16, claim: 4, poll: 4 };
/** Uploads looked at for each kind. It must exceed those that wait for a retry, or the rest would starve. */
const LOOKED_AT = 2000;

const CREDITS = 'credits';

const kinds = ['completion', 'claim', 'poll'] as const;

type TaskOfService = Answer<'getTask'>['body']['task'];

interface TaskUploadsOptions {
  readonly promises: Promises;
  readonly onStatementRequired: () => void;
}

/** Uploads of claims and completions, and polls for receipts. */
export class TaskUploads extends Uploads {
  readonly #underWay = new Map<string, TaskUpload['kind']>();
  readonly #options: TaskUploadsOptions;
  /** Tasks whose completions this process sent before the robot had a key: the service may have accepted them unsigned. */
  readonly #sentUnsigned = new Set<string>();
  #withoutCredits: string | null = null;

  constructor(spool: Spool, service: ServiceClient, logger: Logger, options: TaskUploadsOptions) {
    super(spool, service, logger);
    this.#options = options;
  }

  /** Code of the refusal while completions wait for credits or for the chain; null otherwise. */
  get withoutCredits(): string | null {
    return this.#withoutCredits;
  }

  next(): NextCalls {
    const found = kinds
      .filter((kind) => this.#countUnderWay(kind) < PARALLEL[kind])
      .map((kind) => this.#nextOf(kind));
    return {
      fresh: firstOf(found.map(({ fresh }) => fresh)),
      retry: firstOf(found.map(({ retry }) => retry)),
    };
  }

  #nextOf(kind: TaskUpload['kind']): NextCalls {
    const held = kind === 'completion' ? this.#creditsWaitMs() : 0;
    if (held > 0) return { fresh: { waitMs: held }, retry: null };
    let fresh: NextCall = null;
    let retry: NextCall = null;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const upload of this.spool.read(({ tasks }) => tasks.uploadsOf(kind, LOOKED_AT))) {
      if (this.#underWay.has(upload.id)) continue;
      const name = nameOf(upload);
      const wait = this.retries.waitMs(name);
      const hasFailed = kind !== 'poll' && this.retries.failuresOf(name) > 0;
      if (wait > 0) waitMs = Math.min(waitMs, wait);
      else if (hasFailed) retry ??= () => this.#run(upload);
      else {
        fresh = () => this.#run(upload);
        break;
      }
    }
    return { fresh: fresh ?? (Number.isFinite(waitMs) ? { waitMs } : null), retry };
  }

  #countUnderWay(kind: TaskUpload['kind']): number {
    return [...this.#underWay.values()].filter((one) => one === kind).length;
  }

  #creditsWaitMs(): number {
    if (this.#withoutCredits === null) return 0;
    const probing = this.#countUnderWay('completion') > 0;
    return probing ? this.service.pauses.credits.firstMs : this.retries.waitMs(CREDITS);
  }

  async #run(upload: TaskUpload): Promise<void> {
    this.#underWay.set(upload.id, upload.kind);
    try {
      if (upload.kind === 'claim') await this.#claim(upload.id);
      else if (upload.kind === 'completion') await this.#complete(upload.id);
      else await this.#poll(upload.id);
    } finally {
      this.#underWay.delete(upload.id);
    }
  }

  async #claim(id: string): Promise<void> {
    const claim = this.spool.findClaim(id);
    if (claim === null) return;
    const statement = await this.#statementOf(claim);
    if (statement === 'waiting') return;
    const epoch = this.spool.read(({ state }) => state.epochOf(claim.boot));
    const promised = this.#options.promises.promisedOf(id);
    const inputOf = () => {
      const body = { ...bodyOf<Body<'createTask'>>(claim, epoch), ...(promised && { promised }) };
      if (statement === null) return { body };
      const { occurredAt, jws } = statement;
      return { body: { ...body, occurred_at: occurredAt ?? body.occurred_at, statement: jws } };
    };
    const answer = await this.ask(
      'createTask',
      inputOf,
      named(claim),
      ({ body }) => body.task.id === id,
    );
    if (!(answer instanceof SvcError)) {
      await this.spool.deliverClaim(id, answer.body.task);
      this.done(nameOf(claim));
    } else if (answer.code === 'id_conflict') {
      await this.#conflicting(claim, answer);
    } else {
      await this.#failed(claim, answer);
    }
  }

  /**
   * The id is in use. If the service's task has the content of the claim, an earlier spool of this robot
   * delivered it.
   */
  async #conflicting(claim: Claim, conflict: SvcError): Promise<void> {
    const answer = await this.#read(claim);
    if (answer instanceof SvcError) {
      // Only the service's word that the task is another caller's refuses the claim.
      return this.#failed(claim, answer.code === 'not_found' ? conflict : answer);
    }
    const { task } = answer.body;
    if (!isSameClaim(JSON.parse(claim.body), task)) return this.#failed(claim, conflict);
    const { id, title, description, status, created_at, occurred_at } = task;
    const known = { id, title, description, status, created_at, occurred_at };
    await this.spool.deliverClaim(claim.id, known);
    this.done(nameOf(claim));
  }

  async #complete(id: string): Promise<void> {
    const completion = this.spool.findCompletion(id);
    if (completion === null) return;
    const statement = await this.#statementOf(completion);
    if (statement === 'waiting') return;
    const { proofHash, body } = completion;
    const outcome = completion.outcome ?? (statement && 'succeeded');
    const inputOf = () => ({
      params: { id },
      body: {
        proof: JSON.parse(body) as Proof,
        ...(outcome !== null && { outcome }),
        ...(statement !== null && { statement: statement.jws }),
      },
    });
    if (statement === null) this.#sentUnsigned.add(id);
    const answer = await this.ask('completeTask', inputOf, named(completion), ({ status, body }) =>
      status === 200 ? isReceiptOf(completion, body.verification) : body.proof_hash === proofHash,
    );
    if (answer instanceof SvcError) return this.#completionFailed(completion, answer);
    this.#hasCredits();
    if (answer.status === 200) return this.#settle(completion, answer.body.verification);
    const { promise } = answer.body;
    if (promise === undefined) return this.#accepted(completion);
    await this.#accepted(completion, 0, await this.#options.promises.arrived(completion, promise));
  }

  /** The statement to send with the record; null if the robot signs nothing. `waiting`: it is not signed yet. */
  async #statementOf(
    record: Claim | Completion,
  ): Promise<(StoredStatement & { jws: string }) | 'waiting' | null> {
    if (this.spool.read(({ statements }) => statements.key()) === null) return null;
    const found = this.spool.findStatement(record);
    const jws = found?.jws ?? null;
    if (found !== null && jws !== null) return { ...found, jws };
    if (found !== null) return 'waiting';
    let content: TaskContent | undefined;
    if (record.kind === 'completion' && this.spool.findClaim(record.id) === null) {
      // Only the service knows the task.
      const answer = await this.#read(record);
      if (answer instanceof SvcError) {
        await this.#failed(record, answer);
        return 'waiting';
      }
      content = answer.body.task as TaskContent; // Its documents are JSON.
    }
    return (await this.spool.number(record, content)) ? 'waiting' : null;
  }

  async #completionFailed(completion: Completion, error: SvcError): Promise<void> {
    const { verification } = error.details as { verification?: Verification };
    switch (error.code) {
      case 'already_completed':
        this.#hasCredits();
        if (verification !== undefined) return this.#settle(completion, verification);
        return this.#accepted(completion);
      case 'completion_in_progress':
        this.#hasCredits();
        return this.#accepted(completion, retryAfterMs(error));
      case 'not_found':
        return this.#unknownTask(completion, error);
      default:
        return this.#failed(completion, error);
    }
  }

  async #poll(id: string): Promise<void> {
    const completion = this.spool.findCompletion(id);
    if (completion === null) return;
    const answer = await this.#read(completion);
    if (answer instanceof SvcError) {
      return answer.code === 'not_found'
        ? this.#unknownTask(completion, answer)
        : this.#failed(completion, answer);
    }
    const { verification, anchor } = answer.body;
    if (verification !== null && isReceiptOf(completion, verification)) {
      return this.#settle(completion, verification);
    }
    await this.#options.promises.unanchored(completion, this.service.nowMs);
    if (verification !== null || anchor === null || anchor.state === 'failed') {
      // The service dropped the completion, was restored to a time before it, or has another one.
      await this.spool.update(({ tasks }) => tasks.requeue(id));
      this.retries.failed(nameOf(completion), this.service.pauses.usual);
    } else {
      this.retries.failed(nameOf(completion), this.service.pauses.poll);
    }
  }

  /** If the service was restored to a time before the claim, claim and completion are queued again. */
  async #unknownTask(completion: Completion, error: SvcError): Promise<void> {
    const { id } = completion;
    const isOwn = await this.spool.update(({ tasks }) => tasks.requeueTask(id));
    if (!isOwn) return this.#failed(completion, error);
    this.logger.warn({ task: id }, 'task unknown to the service, queued again');
    this.retries.failed(nameOf(completion), this.service.pauses.usual);
  }

  #read(record: Claim | Completion): Promise<Answer<'getTask'> | SvcError> {
    const { id } = record;
    return this.ask(
      'getTask',
      () => ({ params: { id } }),
      named(record),
      ({ body }) => body.task.id === id,
    );
  }

  async #accepted(completion: Completion, waitMs = 0, promise: StoredPromise | null = null) {
    const name = nameOf(completion);
    await this.spool.accept(completion.id, promise);
    this.done(name);
    this.retries.failed(name, this.service.pauses.poll, waitMs);
  }

  /** The completion leaves the spool only with the receipt of its own proof and statement. */
  async #settle(completion: Completion, verification: Verification): Promise<void> {
    const { id, proofHash } = completion;
    if (isReceiptOf(completion, verification)) {
      if (!this.#hasStatement(completion, verification)) return this.#lacksStatement(completion);
      await this.spool.settle(id, { proofHash, verification });
      this.#sentUnsigned.delete(id);
      return this.done(nameOf(completion));
    }
    await this.#failed(
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
    if (!('statement_hash' in verification)) return this.#sentUnsigned.has(id);
    return own.includes(verification.statement_hash as Hex);
  }

  #lacksStatement({ kind, id }: Completion): void {
    const code = 'receipt_without_statement';
    const message = 'The receipt does not name the statement that the robot signed.';
    const name = nameOf({ kind, id });
    this.logger.error({ task: id, code, reason: message }, 'receipt not accepted');
    this.note(name, { kind, id, count: 1 }, new SvcError(code, message), performance.now());
    this.retries.failed(name, this.service.pauses.usual);
  }

  async #failed(record: Claim | Completion, error: SvcError): Promise<void> {
    const verdict = verdictOf(error);
    if (this.isFinal(nameOf(record), error)) return this.#refuse(record, error);
    if (verdict === 'credits') return this.#outOfCredits(error);
    // Failures of key and connection pause all uploads. The record gets a pause of its own only if it may be the cause.
    if ((verdict === 'link' && !isLost(error)) || verdict === 'key') return;
    const isUnsigned = error.code === 'statement_required';
    if (isUnsigned) this.#options.onStatementRequired();
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
    this.retries.failed(CREDITS, this.service.pauses.credits, retryAfterMs(error));
  }

  #hasCredits(): void {
    this.#withoutCredits = null;
    this.retries.succeeded(CREDITS);
  }
}

/** By which the failures of an upload are known. Those of a completion outlast the delivery of its claim. */
function nameOf({ kind, id }: Pick<SpoolRecord, 'id'> & { kind: string }): string {
  return `${kind === 'claim' ? 'claim' : 'completion'} ${id}`;
}

function named<T extends Claim | Completion>(record: T): T & { name: string } {
  return { ...record, name: nameOf(record) };
}

function isReceiptOf({ id, proofHash }: Completion, verification: Verification): boolean {
  return verification.proof_hash === proofHash && verification.task_id === id;
}

function isSameClaim(wanted: Omit<Body<'createTask'>, 'id'>, task: TaskOfService): boolean {
  return (
    (wanted.occurred_at === undefined || utcOf(wanted.occurred_at) === task.occurred_at) &&
    task.title === wanted.title &&
    task.description === (wanted.description ?? null) &&
    canonicalJson(task.expected_result) === canonicalJson(wanted.expected_result ?? null)
  );
}
