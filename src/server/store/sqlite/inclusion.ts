// Stores changes of the inclusion of attempts: safe, final or reorganized out (step 7 of anchoring).

import type { AnchorStore } from '../../ports/anchoring.ts';
import { dropChainProofs, expectChainProofs } from '../chain-proofs.ts';
import { attemptMover } from './anchor-attempts.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';
import type { LeasedAccess } from './leases.ts';

export function inclusionStore(
  { writer }: Access,
  leased: LeasedAccess,
): Pick<AnchorStore, 'recordInclusionChanges'> {
  const move = attemptMover(writer);
  const run = runOn(writer);
  const setSafe = writer.prepare<[0 | 1, number, string]>(
    'UPDATE attempts SET safe = ?, updated_at = ? WHERE id = ?',
  );

  return {
    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      leased.write(lease, () => {
        for (const id of safe) {
          move(lease, id, 'become_safe', now);
          setSafe.run(1, now, id);
        }
        for (const id of finalized) move(lease, id, 'finalize', now);
        run(expectChainProofs(finalized, now));
        for (const id of reorged) {
          move(lease, id, 'reorganize', now);
          setSafe.run(0, now, id);
        }
        run(dropChainProofs(reorged));
      }),
  };
}
