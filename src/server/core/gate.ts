import type { Deps } from './deps.ts';

/**
 * Whether the wallet meets the token requirement: true where none is set, false where the balance
 * cannot be read.
 */
export async function meetsGate({ chain, settings }: Deps, wallet: string): Promise<boolean> {
  if (settings.gate === null) return true;
  try {
    const balance = await chain.tokenBalance(settings.gate.token, wallet);
    return balance >= settings.gate.minBalance;
  } catch {
    return false;
  }
}
