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
const GATE_KEPT_MS = 10_000;

/** For an answer that only shows the gate: false when a slow chain does not tell in time. */
export type GateReader = (wallet: string) => Promise<boolean>;

/**
 * Asks the chain at most once in 10 s for a wallet, however often and by how many at once it is asked.
 * Sign-in decides by `meetsGate`, never by this.
 */
export function createGateReader(deps: Deps): GateReader {
  // In the order in which they began.
  const reads = new Map<string, { begunAt: number; holds: Promise<boolean> }>();

  function forgetOld(now: number): void {
    for (const [wallet, { begunAt }] of reads) {
      const age = now - begunAt;
      if (age >= 0 && age < GATE_KEPT_MS) return;
      reads.delete(wallet);
    }
  }

  return async (wallet) => {
    if (deps.settings.gate === null) return true;
    const now = deps.clock.now();
    forgetOld(now);
    const read = reads.get(wallet) ?? { begunAt: now, holds: meetsGate(deps, wallet) };
    reads.set(wallet, read);
    return inTime(read.holds);
  };
}

async function inTime(holds: Promise<boolean>): Promise<boolean> {
  const read = new AbortController();
  const late = sleep(GATE_READ_MS, false, { signal: read.signal }).catch(() => false);
  try {
    return await Promise.race([holds, late]);
  } finally {
    read.abort();
  }
}
