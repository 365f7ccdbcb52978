import { describe } from 'vitest';
import { accountContract } from './account.contract.ts';
import { anchorContract } from './anchoring.contract.ts';
import { anchoringAccountContract } from './anchoring-accounts.contract.ts';
import { anchoringAnewContract } from './anchoring-anew.contract.ts';
import { chainProofContract } from './chain-proofs.contract.ts';
import { completionContract } from './completions.contract.ts';
import { creditContract } from './credits.contract.ts';
import { eventContract } from './events.contract.ts';
import { evidenceContract } from './evidence.contract.ts';
import { finalityContract } from './finality.contract.ts';
import { fleetContract } from './fleets.contract.ts';
import { historyContract } from './histories.contract.ts';
import { leaseContract } from './leases.contract.ts';
import { lifeContract } from './life.contract.ts';
import { operationsContract } from './operations.contract.ts';
import { retentionContract } from './retention.contract.ts';
import { robotDeletionContract } from './robot-deletion.contract.ts';
import { robotContract } from './robots.contract.ts';
import { settlementContract } from './settlement.contract.ts';
import { signInContract } from './sign-in.contract.ts';
import { statsContract } from './stats.contract.ts';
import { taskContract } from './tasks.contract.ts';
import { telemetryContract } from './telemetry.contract.ts';
import { transitionContract } from './transitions.contract.ts';
import { variantContract } from './variants.contract.ts';
import type { OpenStore } from './world.ts';

/** What `src/server/ports` promises of a store, for each store. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`the store on ${name}`, () => {
    describe('sign-in', () => signInContract(open));
    describe('robots', () => robotContract(open));
    describe('fleets', () => fleetContract(open));
    describe('deleting a robot', () => robotDeletionContract(open));
    describe('tasks', () => taskContract(open));
    describe('evidence', () => evidenceContract(open));
    describe('accounts', () => accountContract(open));
    describe('completions', () => completionContract(open));
    describe('telemetry', () => telemetryContract(open));
    describe('events', () => eventContract(open));
    describe('statistics', () => statsContract(open));
    describe('retention', () => retentionContract(open));
    describe('credits', () => creditContract(open));
    describe('leases', () => leaseContract(open));
    describe('anchoring', () => anchorContract(open));
    describe('anchoring accounts', () => anchoringAccountContract(open));
    describe('fee variants', () => variantContract(open));
    describe('finality', () => finalityContract(open));
    describe('a chain proof', () => chainProofContract(open));
    describe('anchoring anew', () => anchoringAnewContract(open));
    describe('settlement', () => settlementContract(open));
    describe('the state machine', () => transitionContract(open));
    describe('operations', () => operationsContract(open));
    describe('opening and closing', () => lifeContract(open));
    describe('any history', () => historyContract(open));
  });
}
