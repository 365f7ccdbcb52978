import { setTimeout as sleep } from 'node:timers/promises';
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

const GATE_READ_MS = 2_000;

/** The same for an answer that a slow chain must not hold up: false when it is not read in time. */
export async function meetsGateSoon(deps: Deps, wallet: string): Promise<boolean> {
  if (deps.settings.gate === null) return true;
  const read = new AbortController();
  const late = sleep(GATE_READ_MS, false, { signal: read.signal }).catch(() => false);
  try {
    return await Promise.race([meetsGate(deps, wallet), late]);
  } finally {
    read.abort();
  }
}
