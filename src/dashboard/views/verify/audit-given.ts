// Checks a bundle that a reader gave. Its own file, because a page without a bundle does not load it.
import type { ChainFacts } from '../../../proof/audit-anchor.ts';
import { auditBundle, auditBundleAlone } from '../../../proof/audit-bundle.ts';
import type { Bundle } from '../../../proof/bundle.ts';
import { auditSigning } from '../../../proof/statements/audit-signing.ts';

export async function auditGiven(bundle: Bundle) {
  const signing = await auditSigning(bundle);
  return {
    signing,
    /** The checks that need no chain. */
    alone: [...auditBundleAlone(bundle), ...(signing?.checks ?? [])],
    onChain: (facts: ChainFacts) => auditBundle(bundle, facts),
  };
}

export type GivenAudit = Awaited<ReturnType<typeof auditGiven>>;
