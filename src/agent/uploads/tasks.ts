// Delivers claims and completions in batches, and fetches receipts.
import { SvcError } from '../../base/svc-error.ts';
import type { Proof } from '../../proof/json-value.ts';
import type { TaskContent } from '../../proof/statements/statement.ts';
import { limits } from '../../protocol/limits.ts';
import type { Body } from '../../protocol/routes.ts';
import { bodyOf } from '../spool/clock-correction.ts';
import type { StoredStatement } from '../spool/statements.ts';
import type { Claim, Completion, TaskUpload } from '../spool/tasks.ts';
import { RateBudget } from './rate-budget.ts';
import { verdictOf } from './retry.ts';
import { lacksBatches } from './service-client.ts';
import { isOwnResult, isReceiptOf, named, nameOf, TaskAnswers, type Work } from './task-answers.ts';
import { firstOf, type NextCall, type NextCalls } from './uploads.ts';

/** Calls under way at once, by kind. Completions may wait for a block. */
const PARALLEL = { completion: 16, claim: 4, poll: 4 };
/** Uploads looked at for each kind. It must exceed those that wait for a retry, or the rest would starve. */
const LOOKED_AT = 2000;

/**
 * Estimated bytes of a batch: a quarter of the service's limit, because many batches are in memory at once. A batch that is
 * too slow halves it, and each call lets it grow again.
 */
const MOST_BYTES = limits.bodyBytes / 4;
const GROWTH_BYTES = 8 * 1024;
/** Of a task, without its documents and promise: ids, names and statements. */
const ITEM_BYTES = 2 * 1024;
/** Evidence that is sent again to ask for several receipts at once. Larger evidence is asked for by its id. */
const POLL_BYTES = 64 * 1024;
/** A claim and a completion that failed together this often are sent apart. */
const MOST_FAILURES = 2;
/** How long a service without batches is not asked for them again. */
const NO_BATCHES_MS = 60 * 60_000;

type Kind = TaskUpload['kind'];
const kinds = ['completion', 'claim', 'poll'] as const;

/** Sends all that waits in one batch, so that a backlog needs few calls. A single record is sent by the route for one. */
export class TaskUploads extends TaskAnswers {
  readonly #underWay = new Set<string>();
  readonly #calls = { completion: 0, claim: 0, poll: 0 };
  readonly #tasksInBatches = new RateBudget(limits.batchItemsPerWindow);
  #mostBytes = MOST_BYTES;
  #noBatchesUntil = Number.NEGATIVE_INFINITY;

  next(): NextCalls {
    const open = kinds.filter((kind) => this.#calls[kind] < PARALLEL[kind]);
    const pairs = this.#pairs();
    const found = open.map((kind) => this.#nextOf(kind, pairs));
    return {
      fresh: firstOf(found.map(({ fresh }) => fresh)),
      retry: firstOf(found.map(({ retry }) => retry)),
    };
  }

  get #hasBatches(): boolean {
    return performance.now() >= this.#noBatchesUntil;
  }

  /** Tasks whose claim goes with the completion. */
  #pairs(): ReadonlySet<string> {
    if (!this.#hasBatches || this.withoutCredits !== null) return new Set();
    const ids = this.spool.read(({ tasks }) => tasks.pairs(LOOKED_AT));
    return new Set(
      ids.filter(
        (id) =>
          this.retries.failuresOf(nameOf({ kind: 'claim', id })) === 0 &&
          this.retries.failuresOf(nameOf({ kind: 'completion', id })) < MOST_FAILURES,
      ),
    );
  }

  #nextOf(kind: Kind, pairs: ReadonlySet<string>): NextCalls {
    const held = kind === 'completion' ? this.creditsWaitMs(this.#calls.completion > 0) : 0;
    if (held > 0) return { fresh: { waitMs: held }, retry: null };
    const most = this.withoutCredits !== null && kind === 'completion' ? 1 : limits.batchItems;
    const fresh: string[] = [];
    const failed = new Map<number, string[]>();
    let waitMs = Number.POSITIVE_INFINITY;
    for (const id of this.#waiting(kind, pairs)) {
      if (this.#underWay.has(id)) continue;
      const name = nameOf({ kind, id });
      const wait = this.retries.waitMs(name);
      const failures = kind === 'poll' ? 0 : this.retries.failuresOf(name);
      if (wait > 0) waitMs = Math.min(waitMs, wait);
      else if (failures > 0) failed.set(failures, [...(failed.get(failures) ?? []), id]);
      else if (fresh.push(id) === most) break;
    }
    const [[failures, retry] = [0, []]] = failed;
    return {
      fresh: this.#callFor(kind, fresh, pairs) ?? (Number.isFinite(waitMs) ? { waitMs } : null),
      // Each failure makes the batch smaller, until a record that always fails is alone.
      retry: this.#callFor(kind, retry.slice(0, Math.max(1, most / 4 ** (failures - 1))), pairs),
    };
  }

  #waiting(kind: Kind, pairs: ReadonlySet<string>): Iterable<string> {
    const ids = this.spool.read(({ tasks }) => tasks.uploadsOf(kind, LOOKED_AT));
    const alone = ids.map(({ id }) => id).filter((id) => kind !== 'claim' || !pairs.has(id));
    return kind === 'completion' ? [...alone, ...pairs] : alone;
  }

  #callFor(kind: Kind, ids: readonly string[], pairs: ReadonlySet<string>): NextCall {
    if (ids.length === 0) return null;
    const waitMs = ids.length > 1 ? this.#tasksInBatches.waitMs() : 0;
    return waitMs > 0 ? { waitMs } : () => this.#run(kind, this.#pack(kind, ids, pairs));
  }

  /** The first of these tasks that fit into a call. */
  #pack(kind: Kind, ids: readonly string[], pairs: ReadonlySet<string>): Work[] {
    const most = kind === 'poll' ? Math.min(POLL_BYTES, this.#mostBytes) : this.#mostBytes;
    const works: Work[] = [];
    let bytes = 0;
    for (const id of ids) {
      const work = this.#find(kind, id, pairs);
      if (work === null) continue;
      bytes += this.#bytesOf(work);
      const isAlone =
        !this.#hasBatches || (kind === 'poll' && this.hasFailed(nameOf({ kind, id })));
      if (works.length > 0 && (isAlone || bytes > most)) break;
      works.push(work);
      if (isAlone) break;
    }
    return works;
  }

  #find(kind: Kind, id: string, pairs: ReadonlySet<string>): Work | null {
    const claim = kind === 'claim' || pairs.has(id) ? this.spool.findClaim(id) : null;
    const completion = kind === 'claim' ? null : this.spool.findCompletion(id);
    if (completion !== null) return { claim, completion };
    return claim && { claim, completion };
  }

  #bytesOf(work: Work): number {
    const { claim, completion } = work;
    const documents = [claim, completion].map((one) => Buffer.byteLength(one?.body ?? ''));
    const promise = claim && this.spool.read(({ promises }) => promises.of(claim.id)?.text);
    return documents.reduce((sum, bytes) => sum + bytes, ITEM_BYTES + (promise?.length ?? 0));
  }

  async #run(kind: Kind, works: readonly Work[]): Promise<void> {
    this.#calls[kind] += 1;
    for (const work of works) this.#underWay.add(recordOf(work).id);
    try {
      const [{ claim, completion } = { claim: null, completion: null }] = works;
      if (works.length > 1 || (claim !== null && completion !== null)) await this.#batch(works);
      else if (claim !== null) await this.#claim(claim);
      else if (completion !== null && kind === 'poll') await this.#poll(completion);
      else if (completion !== null) await this.#complete(completion);
    } finally {
      this.#calls[kind] -= 1;
      this.#mostBytes = Math.min(this.#mostBytes + GROWTH_BYTES, MOST_BYTES);
      for (const work of works) this.#underWay.delete(recordOf(work).id);
      this.retries.join(works.map((work) => nameOf(recordOf(work))));
    }
  }

  async #batch(works: readonly Work[]): Promise<void> {
    this.#tasksInBatches.take(performance.now(), works.length);
    const built = await Promise.all(works.map((work) => this.#itemOf(work)));
    const sent = works.filter((_, i) => built[i] !== null);
    if (sent.length === 0) return;
    const items = () => built.flatMap((item) => item?.() ?? []);
    const startedAt = performance.now();
    const answer = await this.ask(
      'batchTasks',
      () => ({ body: { items: items() } }),
      sent.map((work) => named(recordOf(work))),
      ({ body }) => body.items.length === sent.length,
    );
    if (!(answer instanceof SvcError)) {
      const { promise } = answer.body;
      const answered = sent.map((work, i) => {
        const item = answer.body.items[i];
        return item && this.itemAnswered(work, item, promise, startedAt);
      });
      await Promise.all(answered);
    } else if (lacksBatches('batchTasks', answer)) {
      this.#noBatchesUntil = performance.now() + NO_BATCHES_MS;
    } else {
      if (verdictOf(answer) === 'slow') {
        const bytes = sent.reduce((sum, work) => sum + this.#bytesOf(work), 0);
        this.#mostBytes = Math.min(this.#mostBytes, bytes / 2);
      }
      await Promise.all(sent.map((work) => this.failed(recordOf(work), answer)));
    }
  }

  /** Builds the item of a batch; null if it cannot be sent now. */
  async #itemOf(work: Work): Promise<(() => Body<'batchTasks'>['items'][number]) | null> {
    const { claim, completion } = work;
    const claimOf = claim && (await this.#claimOf(claim));
    const resultOf = completion && (await this.#resultOf(completion));
    if ((claim && !claimOf) || (completion && !resultOf)) return null;
    return () => {
      const { id: _, ...ofClaim } = claimOf?.() ?? {};
      return {
        id: recordOf(work).id,
        ...(claimOf && { claim: ofClaim as Body<'createTask'> }),
        ...(resultOf && { completion: resultOf() }),
      };
    };
  }

  async #claim(claim: Claim): Promise<void> {
    const bodyOfClaim = await this.#claimOf(claim);
    if (bodyOfClaim === null) return;
    const answer = await this.ask(
      'createTask',
      () => ({ body: bodyOfClaim() }),
      [named(claim)],
      ({ body }) => body.task.id === claim.id,
    );
    await this.claimAnswered(claim, answer);
  }

  async #complete(completion: Completion): Promise<void> {
    const { id } = completion;
    const bodyOfResult = await this.#resultOf(completion);
    if (bodyOfResult === null) return;
    const answer = await this.ask(
      'completeTask',
      () => ({ params: { id }, body: bodyOfResult() }),
      [named(completion)],
      (one) => isOwnResult(completion, one),
    );
    await this.completionAnswered(completion, answer);
  }

  /** Builds the body of a claim; null while it waits for its signature. */
  async #claimOf(claim: Claim): Promise<(() => Body<'createTask'>) | null> {
    const statement = await this.#statementOf(claim);
    if (statement === 'waiting') return null;
    const epoch = this.spool.read(({ state }) => state.epochOf(claim.boot));
    const promised = this.options.promises.promisedOf(claim.id);
    return () => {
      const body = { ...bodyOf<Body<'createTask'>>(claim, epoch), ...(promised && { promised }) };
      if (statement === null) return body;
      const { occurredAt, jws } = statement;
      return { ...body, occurred_at: occurredAt ?? body.occurred_at, statement: jws };
    };
  }

  /** Builds the body of a completion; null while it waits for its signature. */
  async #resultOf(completion: Completion): Promise<(() => Body<'completeTask'>) | null> {
    const statement = await this.#statementOf(completion);
    if (statement === 'waiting') return null;
    const outcome = completion.outcome ?? (statement && 'succeeded');
    if (statement === null) this.sentUnsigned.add(completion.id);
    return () => ({
      proof: JSON.parse(completion.body) as Proof,
      ...(outcome !== null && { outcome }),
      ...(statement !== null && { statement: statement.jws }),
    });
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
      const answer = await this.read(record);
      if (answer instanceof SvcError) {
        await this.failed(record, answer);
        return 'waiting';
      }
      content = answer.body.task as TaskContent; // Its documents are JSON.
    }
    return (await this.spool.number(record, content)) ? 'waiting' : null;
  }

  async #poll(completion: Completion): Promise<void> {
    const answer = await this.read(completion);
    if (answer instanceof SvcError) {
      return answer.code === 'not_found'
        ? this.unknownTask(completion, answer)
        : this.failed(completion, answer);
    }
    const { verification, anchor } = answer.body;
    if (verification !== null && isReceiptOf(completion, verification)) {
      return this.settle(completion, verification);
    }
    await this.options.promises.unanchored(completion, this.service.nowMs);
    if (verification !== null || anchor === null || anchor.state === 'failed') {
      // The service dropped the completion, was restored to a time before it, or has another one.
      await this.spool.update(({ tasks }) => tasks.requeue(completion.id));
      this.retries.failed(nameOf(completion), this.service.pauses.usual);
    } else {
      this.retries.failed(nameOf(completion), this.service.pauses.poll);
    }
  }
}

/** The record by which failures of the task are known. */
function recordOf({ claim, completion }: Work): Claim | Completion {
  return completion ?? claim;
}
