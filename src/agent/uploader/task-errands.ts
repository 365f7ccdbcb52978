import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import type { Proof } from '../../proof/json-value.ts';
import type { Verification } from '../../protocol/resources.ts';
import type { Spool } from '../spool/spool.ts';
import type { Claim, Completion, TaskErrand } from '../spool/task-tables.ts';
import { callError, retryAfterMs, type Verdict, verdictOf } from './classify.ts';
import { claimBody } from './request-body.ts';
import { Retries, type RetryRange } from './retries.ts';
import type { ServiceLink } from './service-link.ts';

/** Completions under way at once, each of which may wait for a block; claims and polls. */
const PARALLEL = { completion: 16, claim: 4, poll: 4 };
/** Errands looked at; more than can wait for a retry at once, or others would not be seen. */
const LOOKED_AT = 2000;

const pollRange: RetryRange = { firstMs: 4_000, maxMs: 60_000 };
/** Without credits, or without a chain, one completion tries for all. */
const creditsRange: RetryRange = { firstMs: 10_000, maxMs: 15 * 60_000 };
const CREDITS = 'credits';

/** Delivers claims and completions, and fetches receipts. */
export class TaskErrands {
  readonly #spool: Spool;
  readonly #link: ServiceLink;
  readonly #logger: Logger;
  readonly #retries = new Retries();
  readonly #underWay = new Map<string, TaskErrand['kind']>();
  #withoutCredits: string | null = null;

  constructor(spool: Spool, link: ServiceLink, logger: Logger) {
    this.#spool = spool;
    this.#link = link;
    this.#logger = logger;
  }

  /** Code of the refusal while completions wait for credits or for the chain; null otherwise. */
  get withoutCredits(): string | null {
    return this.#withoutCredits;
  }

  /** One call to make now, else how long until there may be one; null for nothing. */
  next(): (() => Promise<void>) | { waitMs: number } | null {
    const busy = this.#busyKinds();
    let waitMs = Number.POSITIVE_INFINITY;
    for (const errand of this.#spool.read(({ tasks }) => tasks.errands(LOOKED_AT))) {
      if (busy.has(errand.kind) || this.#underWay.has(errand.id)) continue;
      const wait = Math.max(this.#retries.waitMs(errand.id), this.#creditsWaitMs(errand));
      if (wait === 0) return () => this.#run(errand);
      waitMs = Math.min(waitMs, wait);
    }
    return Number.isFinite(waitMs) ? { waitMs } : null;
  }

  #busyKinds(): Set<TaskErrand['kind']> {
    const counts = { completion: 0, claim: 0, poll: 0 };
    for (const kind of this.#underWay.values()) counts[kind] += 1;
    const kinds = Object.keys(counts) as TaskErrand['kind'][]; // Object.keys forgets the literal names.
    return new Set(kinds.filter((kind) => counts[kind] >= PARALLEL[kind]));
  }

  #creditsWaitMs({ kind }: TaskErrand): number {
    if (kind !== 'completion' || this.#withoutCredits === null) return 0;
    const probing = [...this.#underWay.values()].includes('completion');
    return probing ? creditsRange.firstMs : this.#retries.waitMs(CREDITS);
  }

  async #run(errand: TaskErrand): Promise<void> {
    this.#underWay.set(errand.id, errand.kind);
    try {
      if (errand.kind === 'claim') await this.#claim(errand.id);
      else if (errand.kind === 'completion') await this.#complete(errand.id);
      else await this.#poll(errand.id);
    } finally {
      this.#underWay.delete(errand.id);
    }
  }

  async #claim(id: string): Promise<void> {
    const claim = this.#spool.findClaim(id);
    if (claim === null) return;
    const epoch = this.#spool.read(({ ledger }) => ledger.epochOf(claim.boot));
    try {
      const { body } = await this.#link.call('createTask', { body: claimBody(claim, epoch) });
      await this.#spool.deliverClaim(id, body.task);
      this.#retries.succeeded(id);
    } catch (error) {
      const known = callError(error);
      if (known.code === 'id_conflict' && (await this.#isSameClaim(claim))) return;
      await this.#failed(claim, known);
    }
  }

  /** A claim made before this spool was, with another time: the task is there, and is what was claimed. */
  async #isSameClaim(claim: Claim): Promise<boolean> {
    try {
      const { task } = (await this.#link.call('getTask', { params: { id: claim.id } })).body;
      const wanted = JSON.parse(claim.body);
      const given = wanted.occurred_at !== undefined && wanted.occurred_at !== task.occurred_at;
      if (given || task.title !== wanted.title) return false;
      if (task.description !== (wanted.description ?? null)) return false;
      if (!sameJson(task.expected_result, wanted.expected_result ?? null)) return false;
      const { id, title, description, status, created_at } = task;
      await this.#spool.deliverClaim(claim.id, { id, title, description, status, created_at });
      return true;
    } catch (error) {
      callError(error);
      return false;
    }
  }

  async #complete(id: string): Promise<void> {
    const completion = this.#spool.findCompletion(id);
    if (completion === null) return;
    const proof: Proof = JSON.parse(completion.body);
    try {
      const answer = await this.#link.call('completeTask', { params: { id }, body: { proof } });
      this.#hasCredits();
      if (answer.status === 200) await this.#settle(completion, answer.body.verification);
      else await this.#accepted(id);
    } catch (error) {
      await this.#completionFailed(completion, callError(error));
    }
  }

  async #completionFailed(completion: Completion, error: SvcError): Promise<void> {
    const { verification } = error.details as { verification?: Verification };
    switch (error.code) {
      case 'already_completed':
        this.#hasCredits();
        if (verification !== undefined) return this.#settle(completion, verification);
        return this.#accepted(completion.id);
      case 'completion_in_progress':
      case 'anchor_queued':
        this.#hasCredits();
        return this.#accepted(completion.id, retryAfterMs(error));
      default:
        return this.#failed(completion, error);
    }
  }

  async #poll(id: string): Promise<void> {
    const completion = this.#spool.findCompletion(id);
    if (completion === null) return;
    try {
      const { body } = await this.#link.call('getTask', { params: { id } });
      if (body.verification !== null) {
        await this.#settle(completion, body.verification);
      } else if (body.anchor === null || body.anchor.state === 'failed') {
        // The service let it go, or was put back to before it: it is handed in again.
        await this.#spool.update(({ tasks }) => tasks.requeue(id));
        this.#retries.failed(id);
      } else {
        this.#retries.failed(id, pollRange);
      }
    } catch (error) {
      await this.#failed(completion, callError(error));
    }
  }

  async #accepted(id: string, waitMs = 0): Promise<void> {
    await this.#spool.update(({ tasks }) => tasks.accept(id));
    this.#retries.succeeded(id);
    this.#retries.failed(id, pollRange, waitMs);
  }

  /** Only with the receipt of this very proof the completion leaves. */
  async #settle(completion: Completion, verification: Verification): Promise<void> {
    const { id, proofHash } = completion;
    this.#retries.succeeded(id);
    if (verification.proof_hash === proofHash && verification.task_id === id) {
      await this.#spool.settle(id, { proofHash, verification });
      return;
    }
    await this.#refuse(
      completion,
      new SvcError(
        'already_completed',
        `The task was completed with another proof, ${verification.proof_hash}.`,
      ),
    );
  }

  async #failed(record: Claim | Completion, error: SvcError): Promise<void> {
    const verdict: Verdict = verdictOf(error);
    if (verdict === 'refused') return this.#refuse(record, error);
    if (verdict === 'credits') this.#outOfCredits(error);
    // A key or a link that fails holds up everything; the record itself may go on at once.
    if (verdict === 'record' || verdict === 'slow') this.#retries.failed(record.id);
  }

  async #refuse(record: Claim | Completion, { code, message }: SvcError): Promise<void> {
    this.#retries.succeeded(record.id);
    this.#logger.error({ [record.kind]: record.id, code }, `refused and set aside: ${message}`);
    await this.#spool.refuseTask(record, { code, message });
  }

  #outOfCredits(error: SvcError): void {
    if (this.#withoutCredits !== error.code)
      this.#logger.error({ code: error.code }, error.message);
    this.#withoutCredits = error.code;
    this.#retries.failed(CREDITS, creditsRange, retryAfterMs(error));
  }

  #hasCredits(): void {
    this.#withoutCredits = null;
    this.#retries.succeeded(CREDITS);
  }
}

function sameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
