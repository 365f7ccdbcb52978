// Stores changes of the inclusion of attempts: safe, final or reorganized out (step 7 of anchoring).

import type { AnchorStore } from '../../ports/anchoring.ts';
import { dropChainProofs, expectChainProofs } from '../chain-proofs.ts';
import { moveAttempts } from './anchor-attempts.ts';
import { sql } from './engine/sql.ts';
import { runSteps } from './engine/steps.ts';
import type { Access } from './engine/transactions.ts';
import { leasedAccess } from './leases.ts';

const setSafe = sql('UPDATE attempts SET safe = $2, updated_at = $3 WHERE id = ANY($1::uuid[])');

export function inclusionStore(access: Access): Pick<AnchorStore, 'recordInclusionChanges'> {
  const { write } = leasedAccess(access);

  return {
    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      write(lease, async (tx) => {
        await moveAttempts(tx, lease, safe, 'become_safe', now);
        await moveAttempts(tx, lease, finalized, 'finalize', now);
        await moveAttempts(tx, lease, reorged, 'reorganize', now);
        await runSteps(tx, expectChainProofs(finalized, now));
        await runSteps(tx, dropChainProofs(reorged));
        if (safe.length > 0) await tx.run(setSafe, [safe, true, now]);
        if (reorged.length > 0) await tx.run(setSafe, [reorged, false, now]);
      }),
  };
}
