// The store: the only thing between the HTTP half and the chain half, and what all of its parts have in common.
import type { AccountStore, CreditStore } from './account.ts';
import type { AnchorStore } from './anchoring.ts';
import type { CompletionStore } from './completions.ts';
import type { EventStore } from './events.ts';
import type { EvidenceStore } from './evidence.ts';
import type { FleetStore } from './fleets.ts';
import type { CheckStore, OperationsStore } from './operations.ts';
import type { RetentionStore } from './retention.ts';
import type { RobotStore } from './robots.ts';
import type { SessionStore, SignInStore } from './sign-in.ts';
import type { TaskStore } from './tasks.ts';
import type { StatsStore, TelemetryStore } from './telemetry.ts';

/*
 * Conventions: every instant is milliseconds since the epoch (UTC); every amount is wei as bigint;
 * wallets are EIP-55 checksummed; ids are lower-case UUIDs; hashes are 0x-prefixed lower-case hex.
 *
 * Every promise of a write resolves only after the write is durable. It rejects with SvcError
 * `storage_unavailable` when the outcome is unknown; the caller must then not claim success.
 * A result named by `outcome` says what was decided; nothing was written unless its docs say so.
 */

/** Everything the server asks of its database. */
export interface Store
  extends SignInStore,
    SessionStore,
    RobotStore,
    FleetStore,
    TaskStore,
    CompletionStore,
    EvidenceStore,
    AccountStore,
    TelemetryStore,
    EventStore,
    StatsStore,
    RetentionStore,
    CreditStore,
    AnchorStore,
    OperationsStore,
    CheckStore {
  /** Rejects with `storage_unavailable` when a write would not become durable now. */
  probe(): Promise<void>;
  /** Finishes writes under way, saves counters, releases files. Later calls reject. */
  close(): Promise<void>;
}
