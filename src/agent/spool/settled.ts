import type { Hex } from '../../proof/bytes.ts';
import type { Task, Verification } from '../../protocol/resources.ts';
import type { SpoolRecord } from './records.ts';

export interface Settlement {
  readonly proofHash: Hex;
  readonly verification: Verification;
}

export interface Receipt extends Settlement {
  /** The service's task, where its claim went through this agent. */
  readonly task: Task | null;
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Receipts that are kept for a second `complete`; the service has all of them. */
export const RECEIPTS_KEPT = 1000;

export interface RefusedRecord extends Refusal {
  readonly seq: number;
  readonly kind: SpoolRecord['kind'];
  readonly id: string;
  readonly wallMs: number;
  readonly body: string;
}

/** Refused samples and events that are kept to be looked at; refused claims and completions all are. */
export const REFUSED_KEPT = 1000;

/** Who waits until a task's completion has left the spool. */
export class SettlementWaiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves when the task is told, or with the signal. */
  async wait(taskId: string, enough: AbortSignal): Promise<void> {
    if (enough.aborted) return;
    const { promise, resolve } = withResolvers();
    const waiting = this.#waiting.get(taskId) ?? new Set();
    this.#waiting.set(taskId, waiting.add(resolve));
    enough.addEventListener('abort', resolve, { once: true });
    await promise;
    enough.removeEventListener('abort', resolve);
    waiting.delete(resolve);
    if (waiting.size === 0 && this.#waiting.get(taskId) === waiting) this.#waiting.delete(taskId);
  }

  tell(taskId: string): void {
    for (const resolve of this.#waiting.get(taskId) ?? []) resolve();
  }
}

function withResolvers() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
