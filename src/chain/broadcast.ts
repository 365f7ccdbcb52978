// Broadcasts signed bytes to all providers and combines their answers.
import type { Hex } from '../proof/bytes.ts';
import { type BroadcastOutcome, broadcastOutcome, ProviderError } from './errors.ts';
import { type ProviderPool, poll } from './provider-pool.ts';
import type { Ask } from './rpc.ts';

/**
 * Sends a signed transaction to every provider, including those that are backing off. Accepted as soon as one provider
 * has it; refused only if all that respond refuse it.
 */
export async function broadcast(
  { providers }: ProviderPool,
  rawTx: Hex,
  signal?: AbortSignal,
): Promise<BroadcastOutcome> {
  const reachable = providers.filter(({ health }) => health.isUsable);
  try {
    return await poll(reachable, {
      isWrite: true,
      ask: ({ broadcasting }) => send(broadcasting, rawTx, signal),
      decide: (outcomes, { open, isLate }) => {
        const taken = outcomes.find(({ outcome }) => outcome === 'accepted' || outcome === 'known');
        if (taken !== undefined || (open > 0 && !isLate)) return taken;
        return outcomes.toSorted((a, b) => weight(b) - weight(a))[0];
      },
    });
  } catch (error) {
    if (error instanceof ProviderError) return { outcome: 'unknown', reason: error.reason };
    throw error;
  }
}

/** Ranks the outcomes of several providers: a refusal outweighs `unknown`. */
function weight({ outcome }: BroadcastOutcome): number {
  return ['unknown', 'refused', 'nonce_used'].indexOf(outcome);
}

async function send(ask: Ask, rawTx: Hex, signal?: AbortSignal): Promise<BroadcastOutcome> {
  const [answer] = await ask([{ method: 'eth_sendRawTransaction', params: [rawTx] }], signal);
  if (answer?.ok === false) return broadcastOutcome(answer.refusal);
  return { outcome: 'accepted' };
}
