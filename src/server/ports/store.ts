// The store: everything the server asks of its database, and the conventions of all its parts.
import type {
  AccountStore,
  AuditLogStore,
  ChangeStore,
  CreditStore,
  DeletionStore,
  StorageStore,
} from './account.ts';
import type { AlertStore } from './alerts.ts';
import type { AnchorStore, ChainProofStore } from './anchoring.ts';
import type { CheckedTimeStore } from './checked-time.ts';
import type { CompletionStore } from './completions.ts';
import type { EventStore } from './events.ts';
import type { EvidenceStore } from './evidence.ts';
import type { FleetStore } from './fleets.ts';
import type { IdentityStore } from './identity.ts';
import type {
  AnchoringAccountStore,
  CheckStore,
  OperationsStore,
  RetentionStore,
} from './operations.ts';
import type { ReportStore } from './report.ts';
import type { RobotStore } from './robots.ts';
import type { SessionStore, SignInStore } from './sign-in.ts';
import type { StatementStore } from './statements.ts';
import type { TaskStore } from './tasks.ts';
import type { StatsStore, TelemetryStore } from './telemetry.ts';
import type { WebhookStore } from './webhooks.ts';

/*
 * Conventions. Instants are milliseconds since the epoch (UTC). Amounts are wei, as bigint. Wallets are EIP-55
 * checksummed. Ids are lower-case UUIDs. Hashes are 0x-prefixed lower-case hex.
 *
 * The promise of a write resolves only after the write is durable. It rejects with SvcError `storage_unavailable` when
 * the outcome is unknown; the caller must not claim success then. A result's `outcome` names the decision; any outcome
 * other than success wrote nothing, unless its docs say so.
 */

/** How long an instance stays the leader after a call of `lead`. */
export const LEAD_MS = 5_000;

export interface Store
  extends SignInStore,
    SessionStore,
    AuditLogStore,
    RobotStore,
    FleetStore,
    IdentityStore,
    StatementStore,
    TaskStore,
    CompletionStore,
    EvidenceStore,
    AccountStore,
    DeletionStore,
    TelemetryStore,
    EventStore,
    StatsStore,
    ReportStore,
    RetentionStore,
    CreditStore,
    AnchorStore,
    AnchoringAccountStore,
    ChainProofStore,
    OperationsStore,
    CheckedTimeStore,
    StorageStore,
    ChangeStore,
    WebhookStore,
    AlertStore,
    CheckStore {
  /**
   * Makes this instance the leader for `LEAD_MS`, or extends its lead. False while another instance leads. The leader
   * alone delivers webhooks and evaluates alert rules.
   */
  lead(): Promise<boolean>;
  /** Rejects with `storage_unavailable` if a write would not become durable now. */
  probe(): Promise<void>;
  /** Finishes pending writes, saves counters and closes files. Later calls reject. */
  close(): Promise<void>;
}
