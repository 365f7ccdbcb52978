// Combines the stores of all nouns that both databases run.

import type { Store } from '../ports/store.ts';
import { accountStore, creditStore, deletionStore } from './account.ts';
import { alertStore } from './alerts.ts';
import { attemptStore } from './anchoring/anchor-attempts.ts';
import { chainProofStore } from './anchoring/chain-proofs.ts';
import { chainStatusStore } from './anchoring/chain-status.ts';
import { inclusionStore } from './anchoring/inclusion.ts';
import { leaseStore } from './anchoring/leases.ts';
import { settlementStore } from './anchoring/settlement.ts';
import { auditLogStore } from './audit-log.ts';
import { checkedTimeStore } from './checked-time.ts';
import type { StepRunner } from './engine/steps.ts';
import { eventStore } from './events.ts';
import { evidenceStore } from './evidence.ts';
import { fleetStore } from './fleets.ts';
import { anchoringAccountStore, operationsStore } from './operations.ts';
import { retentionStore } from './retention.ts';
import { robotDeletion, robotStore } from './robots.ts';
import { sessionStore, signInStore } from './sign-in.ts';
import { statsStore } from './stats.ts';
import type { StorageUsage } from './storage-usage.ts';
import type { ChangeFeed } from './stream.ts';
import { publishAnchors } from './stream.ts';
import { taskOwners, taskStore } from './tasks.ts';
import { telemetryReads } from './telemetry.ts';
import { webhookStore } from './webhooks.ts';

interface Shared {
  usage: StorageUsage;
  feed: ChangeFeed;
}

function sharedStores(steps: StepRunner, { usage, feed }: Shared) {
  return {
    ...signInStore(steps),
    ...robotStore(steps),
    ...robotDeletion(steps),
    ...fleetStore(steps),
    ...taskStore(steps),
    ...evidenceStore(steps),
    ...sessionStore(steps),
    ...auditLogStore(steps),
    ...accountStore(steps),
    ...telemetryReads(steps),
    ...statsStore(steps),
    ...retentionStore(steps),
    ...creditStore(steps),
    ...chainStatusStore(steps),
    ...leaseStore(steps),
    ...anchoringAccountStore(steps),
    ...attemptStore(steps),
    ...settlementStore(steps),
    ...inclusionStore(steps),
    ...chainProofStore(steps),
    ...webhookStore(steps),
    ...alertStore(steps),
    ...deletionStore(steps),
    ...operationsStore(steps),
    ...checkedTimeStore(steps),
    ...eventStore(steps, usage),
    takeStorage: (wallet, bytes, now) => usage.take(wallet, bytes, now),
    recountStorage: () => usage.recount(),
    changed: (wallet, changes) => feed.changed(wallet, changes),
    watchChanges: (...watching) => feed.watchChanges(...watching),
  } satisfies Partial<Store>;
}

/** `own` is what only one of the databases does in its way. */
export function combineStores(
  steps: StepRunner,
  shared: Shared,
  own: Omit<Store, keyof ReturnType<typeof sharedStores>>,
): Store {
  const store: Store = { ...sharedStores(steps, shared), ...own };
  return publishAnchors(store, shared.feed, taskOwners(steps));
}
