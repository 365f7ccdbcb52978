import { numberOf } from './decode.ts';
import { headCalls, headsOf } from './finality.ts';
import { answersOn, type Identity, identityCalls } from './identity.ts';
import { type Ask, resultOf } from './rpc.ts';

export interface CountSubject {
  readonly identity: Identity;
  readonly sender: string;
}

/**
 * The sender's transaction count at the finalized block; 0 while nothing is finalized. Where finality goes by
 * `chain_mismatch` when another chain answers.
 */
export async function finalizedCount(
  ask: Ask,
  { identity, sender }: CountSubject,
  finalityDepth: number | null,
  signal?: AbortSignal,
): Promise<number> {
  const tops = await ask([...identityCalls, ...headCalls(finalityDepth)], signal);
  const { finalized } = headsOf(answersOn(identity, tops), finalityDepth);
  if (finalized === null) return 0;
  const counts = await ask(
    [
      ...identityCalls,
      { method: 'eth_getTransactionCount', params: [sender, `0x${finalized.toString(16)}`] },
    ],
    signal,
  );
  return numberOf(resultOf(answersOn(identity, counts)[0]));
}
