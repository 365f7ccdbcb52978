import type { LedgerTables } from '../spool/ledger-tables.ts';
import type { Instant } from '../spool/records.ts';
import { TOLERANCE_MS } from './corrected-time.ts';

/** No robot of this software ran before. */
const EARLIEST_MS = Date.UTC(2025, 0, 1);

/**
 * Fixes what the monotonic clocks meant, once for each boot and before anything of it is sent. Of this boot the service's
 * clock tells; of an earlier one that never reached the service its own wall clock does, if that lies between
 * what was known before it and now; else it is taken to have ended when the boot after it began.
 */
export function settleEpochs(ledger: LedgerTables, now: Instant, serverMs: number): void {
  const known = ledger.epochOf(now.boot);
  const epochMs = known ?? serverMs - now.monoMs;
  if (known === null) ledger.keepEpoch(now.boot, epochMs);
  let beginningOfNext = epochMs;
  for (const first of ledger.unsettledBoots()) {
    if (first.boot === now.boot) continue;
    // The clock may have been set in the meantime: its last word counts.
    const last = ledger.lastSampleOf(first.boot) ?? first;
    const earliest = Math.max(EARLIEST_MS, ledger.lastContactMs() ?? 0) - TOLERANCE_MS;
    const plausible = last.wallMs >= earliest && last.wallMs <= beginningOfNext;
    const end = plausible ? last.wallMs : beginningOfNext;
    ledger.keepEpoch(first.boot, end - last.monoMs);
    beginningOfNext = end - last.monoMs;
  }
  ledger.keepLastContact(serverMs);
}
