// Combines the stores of all nouns that both databases run.

import type { Store } from '../ports/store.ts';
import { accountStore, deletionStore } from './account.ts';
import { alertStore } from './alerts.ts';
import { attemptStore } from './anchoring/anchor-attempts.ts';
import { assignmentStore } from './anchoring/assignments.ts';
import { chainProofStore } from './anchoring/chain-proofs.ts';
import { chainStatusStore } from './anchoring/chain-status.ts';
import { freeLeafStore } from './anchoring/free-leaves.ts';
import { inclusionStore } from './anchoring/inclusion.ts';
import { leaseStore } from './anchoring/leases.ts';
import { settlementStore } from './anchoring/settlement.ts';
import { auditLogStore } from './audit-log.ts';
import { checkedTimeStore } from './checked-time.ts';
import type { Db } from './db/database.ts';
import { eventStore } from './events.ts';
import { evidenceStore } from './evidence.ts';
import { fleetStore } from './fleets.ts';
import { creditStore } from './ledger.ts';
import { anchoringAccountStore, operationsStore } from './operations.ts';
import { reportStore } from './report.ts';
import { retentionStore } from './retention.ts';
import { robotDeletion, robotStore } from './robots.ts';
import { sessionStore, signInStore } from './sign-in.ts';
import { identityStore } from './signing/identity.ts';
import { statementStore } from './signing/statements.ts';
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

function sharedStores(db: Db, { usage, feed }: Shared) {
  return {
    ...signInStore(db),
    ...robotStore(db),
    ...robotDeletion(db),
    ...fleetStore(db),
    ...taskStore(db),
    ...evidenceStore(db),
    ...sessionStore(db),
    ...auditLogStore(db),
    ...accountStore(db),
    ...telemetryReads(db),
    ...statsStore(db),
    ...reportStore(db),
    ...retentionStore(db),
    ...creditStore(db),
    ...chainStatusStore(db),
    ...leaseStore(db),
    ...anchoringAccountStore(db),
    ...attemptStore(db),
    ...assignmentStore(db),
    ...freeLeafStore(db),
    ...settlementStore(db),
    ...inclusionStore(db),
    ...chainProofStore(db),
    ...webhookStore(db),
    ...alertStore(db),
    ...deletionStore(db),
    ...operationsStore(db),
    ...checkedTimeStore(db),
    ...eventStore(db, usage),
    ...identityStore(db, usage),
    ...statementStore(db, usage),
    takeStorage: (...taken) => usage.take(...taken),
    recountStorage: () => usage.recount(),
    changed: (...changed) => feed.changed(...changed),
    changedAnywhere: () => feed.changedAnywhere(),
    watchChanges: (...watching) => feed.watchChanges(...watching),
  } satisfies Partial<Store>;
}

/** `own` is what only one of the databases does in its way. */
export function combineStores(
  db: Db,
  shared: Shared,
  own: Omit<Store, keyof ReturnType<typeof sharedStores>>,
): Store {
  const store: Store = { ...sharedStores(db, shared), ...own };
  return publishAnchors(store, shared.feed, taskOwners(db));
}
