import { chunksOf } from './chunks.ts';
import { isBatchTooLarge, ProviderFault } from './errors.ts';
import type { Ask, RpcCall } from './rpc.ts';
import type { RpcAnswer } from './rpc-answers.ts';

export interface Parts {
  /** Calls that every request begins with; what it answers is to be read against their answers. */
  readonly head: readonly RpcCall[];
  readonly calls: readonly RpcCall[];
}

/** Calls in one request beside its head: providers refuse large batches. */
const PER_REQUEST = 25;

/** What an endpoint is known to take in one request, where it has refused more. */
const limits = new WeakMap<Ask, number>();

/**
 * Asks many calls in several requests, and in smaller ones where the endpoint finds a batch too large. Answers each
 * request's answers, its head's first; at least one request, in the order of the calls. Rejects as `ask` does.
 */
export async function askInParts(
  ask: Ask,
  { head, calls }: Parts,
  signal?: AbortSignal,
): Promise<RpcAnswer[][]> {
  const room = (limits.get(ask) ?? Number.POSITIVE_INFINITY) - head.length;
  const size = Math.max(1, Math.min(PER_REQUEST, room));
  const parts = await Promise.all(
    chunksOf(calls, size).map((chunk) => askPart(ask, { head, calls: chunk }, signal)),
  );
  return parts.flat();
}

async function askPart(ask: Ask, part: Parts, signal?: AbortSignal): Promise<RpcAnswer[][]> {
  const batch = [...part.head, ...part.calls];
  try {
    const answers = await ask(batch, signal);
    const [first] = answers;
    if (part.calls.length < 2 || first?.ok !== false || !isBatchTooLarge(first.refusal.reason)) {
      return [answers];
    }
  } catch (error) {
    const isTooLarge = error instanceof ProviderFault && error.isTooLarge;
    if (!isTooLarge || part.calls.length < 2) throw error;
  }
  const half = Math.floor(batch.length / 2);
  limits.set(ask, Math.min(half, limits.get(ask) ?? half));
  return askInParts(ask, part, signal);
}
