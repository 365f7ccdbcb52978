import { statements } from '../../invariants/statements.ts';
import type { Access } from '../access.ts';
import { activityInvariants } from './activity.ts';
import { payloadsRebuild, proofsMatchTheirHash } from './anchored-bytes.ts';
import { anchoringInvariants } from './anchoring.ts';
import { type Invariant, selecting, takeLong } from './invariant.ts';
import { chargesFollowCost, ledgerInvariants } from './ledger.ts';
import { recordInvariants } from './records.ts';
import { rollupsFollowSamples } from './telemetry-roll-ups.ts';

const invariants: Record<string, Invariant> = {
  ...Object.fromEntries(
    Object.entries(statements).map(([name, statement]) => [name, selecting(statement)]),
  ),
  ...ledgerInvariants,
  charges_follow_cost: chargesFollowCost,
  ...activityInvariants,
  rollups_follow_samples: rollupsFollowSamples,
  proofs_match_their_hash: proofsMatchTheirHash,
  payloads_rebuild_from_leaves: payloadsRebuild,
  ...anchoringInvariants,
  ...recordInvariants,
};

/** How many violations of one invariant are told in full. */
const MAX_TOLD = 20;

interface Finding {
  invariant: string;
  violations: string[];
}

/** Looks at one moment of the database; answers only the invariants that do not hold. */
export function checkInvariants(access: Access): Promise<Finding[]> {
  return access.read(async (tx) => {
    await takeLong(tx);
    const findings: Finding[] = [];
    for (const [invariant, violationsIn] of Object.entries(invariants)) {
      const violations = await told(violationsIn(tx));
      if (violations.length > 0) findings.push({ invariant, violations });
    }
    return findings;
  });
}

async function told(violations: AsyncIterable<string>): Promise<string[]> {
  const first: string[] = [];
  let more = 0;
  for await (const violation of violations) {
    if (first.length < MAX_TOLD) first.push(violation);
    else more += 1;
  }
  return more === 0 ? first : [...first, `and ${more} more`];
}
