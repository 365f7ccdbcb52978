// Delivers claims and completions, and fetches receipts.
import { SvcError } from '../../base/svc-error.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import type { Proof } from '../../proof/json-value.ts';
import type { Verification } from '../../protocol/resources.ts';
import type { Answer, Body, Input } from '../../protocol/routes.ts';
import { utcOf } from '../../protocol/timestamp.ts';
import type { SpoolRecord } from '../spool/records.ts';
import type { Claim, Completion, TaskUpload } from '../spool/tasks.ts';
import { callError, isLost, retryAfterMs, type Verdict, verdictOf } from './retry.ts';
import { type NextCall, Uploads } from './service-client.ts';
import { timestampOf } from './time.ts';

/** Calls under way at once, by kind. Completions may wait for a block. */
const PARALLEL = { completion: 16, claim: 4, poll: 4 };
/** Uploads looked at for each kind. It must exceed those that wait for a retry, or the rest would starve. */
const LOOKED_AT = 2000;

const CREDITS = 'credits';

type TaskOfService = Answer<'getTask'>['body']['task'];

/** Uploads of claims and completions, and polls for receipts. */
export class TaskUploads extends Uploads {
  readonly #underWay = new Map<string, TaskUpload['kind']>();
  #withoutCredits: string | null = null;

  /** Code of the refusal while completions wait for credits or for the chain; null otherwise. */
  get withoutCredits(): string | null {
    return this.#withoutCredits;
  }

  /** The next call, else the time until a retry is due; null for nothing. */
  next(): NextCall {
    let waitMs = Number.POSITIVE_INFINITY;
    for (const kind of ['completion', 'claim', 'poll'] as const) {
      if (this.#countUnderWay(kind) >= PARALLEL[kind]) continue;
      const found = this.#nextOf(kind);
      if (typeof found === 'function') return found;
      waitMs = Math.min(waitMs, found);
    }
    return Number.isFinite(waitMs) ? { waitMs } : null;
  }

  /** The next call of the kind, else milliseconds until a retry is due; Infinity for nothing. */
  #nextOf(kind: TaskUpload['kind']): (() => Promise<void>) | number {
    const held = kind === 'completion' ? this.#creditsWaitMs() : 0;
    if (held > 0) return held;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const upload of this.spool.read(({ tasks }) => tasks.uploadsOf(kind, LOOKED_AT))) {
      if (this.#underWay.has(upload.id)) continue;
      const wait = this.retries.waitMs(upload.id);
      if (wait === 0) return () => this.#run(upload);
      waitMs = Math.min(waitMs, wait);
    }
    return waitMs;
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
    const epoch = this.spool.read(({ state }) => state.epochOf(claim.boot));
    const answer = await this.#call('createTask', { body: claimBody(claim, epoch) });
    if (!(answer instanceof SvcError)) {
      await this.spool.deliverClaim(id, answer.body.task);
      this.retries.succeeded(id);
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
    const answer = await this.#call('getTask', { params: { id: claim.id } });
    if (answer instanceof SvcError) {
      // Only the service's word that the task is another caller's refuses the claim.
      return this.#failed(claim, answer.code === 'not_found' ? conflict : answer);
    }
    const { task } = answer.body;
    if (!isSameClaim(JSON.parse(claim.body), task)) return this.#failed(claim, conflict);
    const { id, title, description, status, created_at } = task;
    await this.spool.deliverClaim(claim.id, { id, title, description, status, created_at });
  }

  async #complete(id: string): Promise<void> {
    const completion = this.spool.findCompletion(id);
    if (completion === null) return;
    const proof: Proof = JSON.parse(completion.body);
    const answer = await this.#call('completeTask', { params: { id }, body: { proof } });
    if (answer instanceof SvcError) return this.#completionFailed(completion, answer);
    this.#hasCredits();
    if (answer.status === 200) await this.#settle(completion, answer.body.verification);
    else await this.#accepted(id);
  }

  async #completionFailed(completion: Completion, error: SvcError): Promise<void> {
    const { verification } = error.details as { verification?: Verification };
    switch (error.code) {
      case 'already_completed':
        this.#hasCredits();
        if (verification !== undefined) return this.#settle(completion, verification);
        return this.#accepted(completion.id);
      case 'completion_in_progress':
        this.#hasCredits();
        return this.#accepted(completion.id, retryAfterMs(error));
      case 'not_found':
        return this.#unknownTask(completion, error);
      default:
        return this.#failed(completion, error);
    }
  }

  async #poll(id: string): Promise<void> {
    const completion = this.spool.findCompletion(id);
    if (completion === null) return;
    const answer = await this.#call('getTask', { params: { id } });
    if (answer instanceof SvcError) {
      return answer.code === 'not_found'
        ? this.#unknownTask(completion, answer)
        : this.#failed(completion, answer);
    }
    const { verification, anchor } = answer.body;
    if (verification !== null) {
      await this.#settle(completion, verification);
    } else if (anchor === null || anchor.state === 'failed') {
      // The service dropped the completion, or was restored to a time before it.
      await this.spool.update(({ tasks }) => tasks.requeue(id));
      this.retries.failed(id, this.service.pauses.usual);
    } else {
      this.retries.failed(id, this.service.pauses.poll);
    }
  }

  /** If the service was restored to a time before the claim, claim and completion are queued again. */
  async #unknownTask(completion: Completion, error: SvcError): Promise<void> {
    const { id } = completion;
    const isOwn = await this.spool.update(({ tasks }) => tasks.requeueTask(id));
    if (!isOwn) return this.#failed(completion, error);
    this.logger.warn({ task: id }, 'task unknown to the service, queued again');
    this.retries.failed(id, this.service.pauses.usual);
  }

  /** The answer or the error of a call. Errors of the spool are not among them. */
  async #call<Name extends 'createTask' | 'completeTask' | 'getTask'>(
    name: Name,
    input: Input<Name>,
  ): Promise<Answer<Name> | SvcError> {
    try {
      // TypeScript cannot match one input of the union to one route of the union.
      return await this.service.call(name, input as never);
    } catch (error) {
      return callError(error);
    }
  }

  async #accepted(id: string, waitMs = 0): Promise<void> {
    await this.spool.update(({ tasks }) => tasks.accept(id));
    this.retries.succeeded(id);
    this.retries.failed(id, this.service.pauses.poll, waitMs);
  }

  /** The completion leaves the spool only with the receipt of its own proof. */
  async #settle(completion: Completion, verification: Verification): Promise<void> {
    const { id, proofHash } = completion;
    this.retries.succeeded(id);
    if (verification.proof_hash === proofHash && verification.task_id === id) {
      await this.spool.settle(id, { proofHash, verification });
      return;
    }
    await this.#refuse(
      completion,
      new SvcError(
        'already_completed',
        `The task was completed with another proof: ${verification.proof_hash}.`,
      ),
    );
  }

  async #failed(record: Claim | Completion, error: SvcError): Promise<void> {
    const verdict: Verdict = verdictOf(error);
    if (verdict === 'refused') return this.#refuse(record, error);
    if (verdict === 'credits') this.#outOfCredits(error);
    // Failures of key and connection pause all uploads. The record gets a pause of its own only if it may be the cause.
    if (verdict === 'record' || verdict === 'quota' || verdict === 'slow')
      this.retries.failed(record.id, this.service.pauses.usual);
    else if (isLost(error)) this.retries.failed(record.id, this.service.pauses.lost);
  }

  async #refuse(record: Claim | Completion, { code, message }: SvcError): Promise<void> {
    this.retries.succeeded(record.id);
    this.logger.error({ task: record.id, code, reason: message }, `${record.kind} set aside`);
    await this.spool.refuseTask(record, { code, message });
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

function isSameClaim(wanted: Omit<Body<'createTask'>, 'id'>, task: TaskOfService): boolean {
  return (
    (wanted.occurred_at === undefined || utcOf(wanted.occurred_at) === task.occurred_at) &&
    task.title === wanted.title &&
    task.description === (wanted.description ?? null) &&
    canonicalJson(task.expected_result) === canonicalJson(wanted.expected_result ?? null)
  );
}

/** `occurred_at` is the time of the claim, because the service may receive it much later. */
function claimBody(record: SpoolRecord, epochMs: number | null): Body<'createTask'> {
  const content: Omit<Body<'createTask'>, 'id'> = JSON.parse(record.body);
  const { text: occurred_at } = timestampOf(content.occurred_at, record, epochMs);
  return { ...content, id: record.id, occurred_at };
}
