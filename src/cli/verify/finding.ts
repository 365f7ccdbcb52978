// What `svc verify` found.
import type { AnchorAudit } from '../../chain/verify-anchor.ts';
import type { ComparedFile } from '../../proof/files/manifest.ts';
import type { Subject } from '../../proof/subject/subject.ts';
import type { VerdictCheckName } from '../../proof/subject/verdict.ts';

export interface Check {
  name: VerdictCheckName;
  ok: boolean;
  /** A sentence for people. */
  detail: string;
}

/** The result of reading the chain, or of asking the service. */
export interface Finding {
  /** `unnamed`: every check passes, but the caller named neither the sender nor a service. */
  outcome: 'verified' | 'not_verified' | 'pending' | 'unnamed';
  /** What the argument was recognized as. */
  recognized: Subject['kind'];
  /**
   * Where the statement about the chain comes from: transaction and receipt at the nodes, only the block at the nodes,
   * a block hash of the caller, or the service.
   */
  basis: 'chain' | 'block' | 'block_hash' | 'service';
  /** The options that check the subject against the chain. */
  chainOptions: string;
  /** Origin of the service that was asked; null if none was. */
  service: string | null;
  proofHash: string;
  txHash: string | null;
  checks: readonly Check[];
  sender: string | null;
  /** Decimal. */
  confirmations: string | null;
  finality: string | null;
  nodes: AnchorAudit['nodes'];
  /** Number of tasks with the hash; 1 if the service was not asked. */
  occurrences: number;
  /** Statements that no check covers, by name. */
  stated: Readonly<Record<string, string>>;
  identity: Identity;
  /** The files that the evidence lists. */
  files: readonly ComparedFile[];
  /** What the checks cover, by name. */
  facts: Readonly<Record<string, string>>;
}

/** The options of `svc verify` that check a subject against the chain. */
export function chainOptionsOf({ bundle }: Pick<Subject, 'bundle'>): string {
  const isProven = bundle?.chain_proof !== undefined;
  return isProven ? '--rpc-url URL, or with --block-hash HASH' : '--rpc-url URL';
}

/** The accounts of which one must have sent the anchor. */
export interface Identity {
  /** The option or the service that names them; null if neither was given. */
  by: string | null;
  /** Whether a service names them that the caller has not saved. */
  isStated: boolean;
  addresses: readonly string[];
}

/** Whether the evidence is part of what was checked. */
export function evidenceOf({
  checks,
}: Pick<Finding, 'checks'>): 'matches' | 'does_not_match' | 'not_included' {
  const found = checks.filter(({ name }) => name === 'evidence');
  if (found.length === 0) return 'not_included';
  return found.every(({ ok }) => ok) ? 'matches' : 'does_not_match';
}
