// What the uploads of all kinds of records have in common: calls about a record, and what is known of those that failed.
import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { CallName } from '../../client/client.ts';
import type { Answer, Input } from '../../protocol/routes.ts';
import type { SpoolRecord } from '../spool/records.ts';
import type { Spool } from '../spool/spool.ts';
import { callError, Retries, verdictOf } from './retry.ts';
import type { ServiceClient } from './service-client.ts';

/** The next call, else the time until a retry is due; null for nothing. */
export type NextCall = (() => Promise<void>) | { waitMs: number } | null;

/** The first call that can be made now, else the shortest wait; null without either. */
export function firstOf(calls: readonly NextCall[]): NextCall {
  const waits = calls.flatMap((one) => (one !== null && 'waitMs' in one ? one.waitMs : []));
  const wait = waits.length === 0 ? null : { waitMs: Math.min(...waits) };
  return calls.find((one) => typeof one === 'function') ?? wait;
}

/** Calls for records that did not fail yet, and for those that did: a failure delays nothing behind it. */
export interface NextCalls {
  readonly fresh: NextCall;
  readonly retry: NextCall;
}

/** A record that stays in the spool after a failure of its own. */
export interface Retried extends Pick<SpoolRecord, 'kind' | 'id'> {
  /** Number of records, if they fail together. */
  readonly count: number;
  readonly code: string;
  readonly message: string;
}

/** The record of a call, or the first of several that have one name. */
type About = Pick<Retried, 'kind' | 'id'> & { readonly name?: string; readonly count?: number };

interface Failed {
  readonly record: Retried;
  /** The `performance.now()` of the first refusal; null without one. */
  readonly refusedAt: number | null;
  /** The refusal was repeated after the service named this robot. */
  readonly isFinal: boolean;
}

/** The uploads of one kind of record. */
export abstract class Uploads {
  protected readonly spool: Spool;
  protected readonly service: ServiceClient;
  protected readonly logger: Logger;
  /** By the name of a record. */
  protected readonly retries = new Retries();
  readonly #failed = new Map<string, Failed>();

  constructor(spool: Spool, service: ServiceClient, logger: Logger) {
    this.spool = spool;
    this.service = service;
    this.logger = logger;
  }

  /** Records that failed and are tried again. */
  get retried(): Retried[] {
    return [...this.#failed.values()].map(({ record }) => record);
  }

  /**
   * The answer or the error of a call about records; a failure is that of each of them. Errors of the spool are not among
   * them. `inputOf` builds the call from the stored records. It must not use the spool: what it throws is a fault of a
   * record. `isOwn`: whether the answer is about what was sent.
   */
  protected async ask<Name extends CallName>(
    name: Name,
    inputOf: () => Input<Name>,
    about: readonly About[],
    isOwn: (answer: Answer<Name>) => boolean,
  ): Promise<Answer<Name> | SvcError> {
    const startedAt = performance.now();
    try {
      return await this.service.call(name, built(inputOf, about), isOwn);
    } catch (error) {
      const known = callError(error);
      for (const one of about) this.note(one, known, startedAt, name === 'batchTasks');
      return known;
    }
  }

  /**
   * Whether the error refuses the record for good. A gateway can send the same error as the service, so it must be
   * repeated after the service named this robot.
   */
  protected isFinal(name: string, error: SvcError): boolean {
    return verdictOf(error) === 'refused' && (this.#failed.get(name)?.isFinal ?? false);
  }

  /** The service has the record, or it left the spool. */
  protected done(name: string): void {
    this.retries.succeeded(name);
    this.#failed.delete(name);
  }

  /** The records of one name now have several names, which inherit its failures, but not its refusal. */
  protected split(
    name: string,
    parts: readonly (Pick<Retried, 'id' | 'count'> & { name: string })[],
  ) {
    const failed = this.#failed.get(name);
    const names = parts.map((part) => part.name);
    this.retries.inherit(name, names);
    this.#failed.delete(name);
    if (failed === undefined) return;
    for (const { name: ofPart, id, count } of parts) {
      const record = { ...failed.record, id, count };
      this.#failed.set(ofPart, { record, refusedAt: null, isFinal: false });
    }
  }

  /** Whether the record of this name is shown as one that failed. */
  protected hasFailed(name: string): boolean {
    return this.#failed.has(name);
  }

  /**
   * Shows the record as one that failed. `startedAt`: when its call was made. `isShared`: the call was about more
   * than the record, so that a refusal may have another cause.
   */
  protected note(
    { kind, id, name = id, count = 1 }: About,
    error: SvcError,
    startedAt: number,
    isShared = false,
  ): void {
    const { code, message } = error;
    const verdict = verdictOf(error);
    if (verdict === 'link' || verdict === 'key' || verdict === 'credits') return;
    let { refusedAt = null } = this.#failed.get(name) ?? {};
    const isRefused = verdict === 'refused' && !isShared;
    const isFinal =
      isRefused && refusedAt !== null && this.service.namedRobotBetween(refusedAt, startedAt);
    if (isRefused && !isFinal) {
      refusedAt ??= performance.now();
      this.service.doubt();
    }
    this.#failed.set(name, { record: { kind, id, count, code, message }, refusedAt, isFinal });
  }
}

/** @throws SvcError `invalid_body`, a refusal, for a stored record of which no call can be built */
function built<T>(inputOf: () => T, [first]: readonly About[]): T {
  try {
    return inputOf();
  } catch (cause) {
    const message = `The stored ${first?.kind} is not of the documented form. Nothing was sent.`;
    throw new SvcError('invalid_body', message, { cause });
  }
}
