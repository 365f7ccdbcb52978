// Checks what the service promises about completions, and reports promises that are wrong or not kept.
import { orNull } from '../../base/or-null.ts';
import type { Hex } from '../../proof/bytes.ts';
import { DocumentError } from '../../proof/document-error.ts';
import { hashClaim } from '../../proof/hash.ts';
import { leafHash } from '../../proof/leaf.ts';
import {
  type PromisedLeaf,
  type ReadPromise,
  readPromise,
} from '../../proof/statements/promise.ts';
import {
  type Algorithm,
  algorithmOf,
  type CheckSignature,
  openKey,
  readPublicKey,
  thumbprintOf,
} from '../../proof/statements/public-key.ts';
import type { Body } from '../../protocol/routes.ts';
import type { PromiseProblem, StoredPromise } from '../spool/promises.ts';
import type { Completion } from '../spool/tasks.ts';
import { callError } from './retry.ts';
import type { ServiceClient, ServiceClientOptions } from './service-client.ts';
import type { NextCall } from './uploads.ts';

const LONGEST_MS = 24 * 60 * 60_000;
/** Largest difference between the clocks of the service and of this machine. */
const CLOCK_MS = 5 * 60_000;
/** Promises checked after one read of the list. */
const CHECKED_AT_ONCE = 500;

/** A promise counts after its checks. A promise never delays the delivery. */
export class Promises {
  readonly #options: ServiceClientOptions;
  /** Keys of the service's list, by kid. */
  readonly #keys = new Map<string, { alg: Algorithm; isSigned: CheckSignature }>();
  /** Other keys, which a read did not find. A cache on the way may be a minute behind, so that the next read decides. */
  readonly #missing = new Set<string>();
  /** The public URL in the service's list: robots may reach the service by another one. Null before the first read. */
  #origin: string | null = null;
  #readAt = Number.NEGATIVE_INFINITY;
  #isReading = false;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
  }

  /** What to store of the promise in an answer to the completion. */
  arrived(completion: Completion, text: string): Promise<StoredPromise> {
    const { clock } = this.#options;
    return this.#judge(completion, text, clock.isSynchronized() ? clock.now().wallMs : null);
  }

  /** Reads the list of keys if a promise is signed by another one. */
  next(service: ServiceClient): NextCall {
    const isNeeded = this.#options.spool.read(({ promises }) => promises.unchecked(1)).length > 0;
    if (this.#isReading || !isNeeded) return null;
    const waitMs = this.#readAt + service.pauses.promiseKeysMs - performance.now();
    return waitMs > 0 ? { waitMs } : () => this.#readKeys(service);
  }

  /** The promise to send with a claim that the service has lost, which keeps its time by it. Undefined without a valid one. */
  promisedOf(taskId: string): Body<'createTask'>['promised'] {
    const { spool } = this.#options;
    const { text = null, dueMs = null } = spool.read(({ promises }) => promises.of(taskId)) ?? {};
    const completion = text && dueMs && spool.findCompletion(taskId);
    if (!text || !completion) return undefined;
    const leaf = leafOf(readPromise(text), completion);
    const statement_hash = leaf && this.#statementIn(leaf, completion);
    if (statement_hash === undefined) return undefined;
    return { promise: text, proof_hash: completion.proofHash, statement_hash };
  }

  /** The service was asked for the receipt, and has none: reports a promise whose time is over. */
  async unanchored({ id }: Completion, nowMs: number | null): Promise<void> {
    const { spool, logger } = this.#options;
    const dueMs = spool.read(({ promises }) => promises.of(id)?.dueMs) ?? null;
    if (dueMs === null || nowMs === null || nowMs <= dueMs) return;
    const due = new Date(dueMs).toISOString();
    const message = `The service promised to anchor task ${id} by ${due}, and it is not anchored.`;
    if (await spool.notePromiseProblem(id, { code: 'promise_overdue', message }))
      logger.error({ task: id, anchored_by: due }, 'promise of the service is overdue');
  }

  async #judge(
    completion: Completion,
    text: string,
    arrivedMs: number | null,
  ): Promise<StoredPromise> {
    const read = orNull(() => readPromise(text), [DocumentError]);
    // The receipt may arrive meanwhile.
    const leaf_checked = this.#options.spool.contentOf(completion.id) !== null;
    const fault = await this.#faultOf(read, completion);
    if (read === null || fault !== null) {
      const message = `The promise of the service for task ${completion.id} ${fault}.`;
      this.#options.logger.error({ task: completion.id, reason: message }, 'promise refused');
      const problem = { code: 'promise_refused', message } as const;
      return { text: null, arrivedMs, dueMs: null, problem };
    }
    if (!this.#keys.has(read.header.kid)) return { text, arrivedMs, dueMs: null, problem: null };
    const { id } = completion;
    const { anchored_by } = read.promise;
    this.#options.logger.debug({ task: id, anchored_by, leaf_checked }, 'promise kept');
    const problem = timesProblem(read, completion, arrivedMs);
    return { text, arrivedMs, dueMs: Date.parse(anchored_by), problem };
  }

  /** Why the promise does not count. Null while the key is not known: the signature is checked after a read of the list. */
  async #faultOf(read: ReadPromise | null, completion: Completion): Promise<string | null> {
    if (read === null) return 'is not of the documented form';
    const origin = this.#origin ?? read.promise.origin;
    if (read.promise.origin !== origin) return `is by another origin than ${origin}`;
    const leaf = leafOf(read, completion);
    if (leaf === undefined) return 'is about other tasks';
    if (this.#statementIn(leaf, completion) === undefined)
      return 'is about other evidence, another claim or another statement';
    const { header, signed, signature } = read;
    const key = this.#keys.get(header.kid);
    if (key === undefined)
      return this.#missing.has(header.kid)
        ? 'is signed by a key that the service does not list'
        : null;
    const isSigned = header.alg === key.alg && (await key.isSigned(signed, signature));
    return isSigned ? null : 'has a wrong signature';
  }

  /**
   * The hash of the statement in the leaf; null for a leaf without one. Undefined if the leaf is of other work. Not checked
   * if the content of the task is not known: null.
   */
  #statementIn(
    { task_id, created_at, leaf }: PromisedLeaf,
    { id, proofHash }: Completion,
  ): Hex | null | undefined {
    const { spool } = this.#options;
    const content = spool.contentOf(id);
    const robotId = spool.read(({ state }) => state.robotId());
    if (content === null || robotId === null) return null;
    const common = { proof_hash: proofHash, task_id, robot_id: robotId };
    // A stored claim that is not of the documented form has no hash.
    const claim_hash = orNull(() => hashClaim({ ...content, created_at }), [TypeError]);
    if (claim_hash === null) return null;
    const own = spool.read(({ statements }) => statements.resultHashes(id, proofHash));
    return (own.length === 0 ? [null] : own).find(
      (statement_hash) => leafHash({ ...common, claim_hash, statement_hash }) === leaf,
    );
  }

  async #readKeys(service: ServiceClient): Promise<void> {
    const { spool, logger } = this.#options;
    const waiting = spool.read(({ promises }) => promises.unchecked(CHECKED_AT_ONCE));
    this.#readAt = performance.now();
    this.#isReading = true;
    try {
      const { origin, accounts } = (await service.call('getAnchoringAccounts')).body;
      this.#origin = origin;
      for (const { promise_key: key } of accounts) {
        const publicKey = key && orNull(() => readPublicKey(key.public_key), [DocumentError]);
        if (!publicKey || thumbprintOf(publicKey) !== key.kid) continue;
        const isSigned = await openKey(publicKey);
        this.#keys.set(key.kid, { alg: algorithmOf(publicKey), isSigned });
      }
    } catch (error) {
      const { code, message } = callError(error);
      logger.warn({ code, reason: message }, 'keys of promises not read');
      return;
    } finally {
      this.#isReading = false;
    }
    for (const { id, text, arrivedMs } of waiting) {
      const completion = spool.findCompletion(id);
      if (completion === null) continue;
      const judged = await this.#judge(completion, text, arrivedMs);
      await spool.keepPromise(id, judged);
      if (judged.text !== null && judged.dueMs === null)
        this.#missing.add(readPromise(text).header.kid);
    }
  }
}

function leafOf({ promise }: ReadPromise, { id }: Completion): PromisedLeaf | undefined {
  return promise.leaves.find(({ task_id }) => task_id === id);
}

/** Times that the service should not state. The promise counts nevertheless. */
function timesProblem(
  { promise: { accepted_at, anchored_by } }: ReadPromise,
  { id }: Completion,
  arrivedMs: number | null,
): PromiseProblem | null {
  const acceptedMs = Date.parse(accepted_at);
  const isLate = Date.parse(anchored_by) - acceptedMs > LONGEST_MS;
  const isOff = arrivedMs !== null && Math.abs(acceptedMs - arrivedMs) > CLOCK_MS;
  if (!isLate && !isOff) return null;
  const clock = `, while this machine's clock said ${new Date(arrivedMs ?? 0).toISOString()}`;
  const message = `The service promised at ${accepted_at}${isOff ? clock : ''} to anchor task ${id} by ${anchored_by}${isLate ? ', more than 24 hours later' : ''}.`;
  return { code: 'promise_times', message };
}
