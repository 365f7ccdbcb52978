// The checks of an audit and their results.
/** What `auditAnchor`, `auditBundle` and `auditBundleAlone` look at; each says which of them it has. */
export type AuditCheckName =
  | 'evidence'
  | 'raw_tx'
  | 'chain'
  | 'transaction_found'
  | 'status'
  | 'canonical_block'
  | 'self_transfer'
  | 'sender'
  | 'payload'
  | 'proof_hash'
  | 'leaf'
  | 'leaf_count'
  | 'root'
  | 'inclusion_path'
  | 'block_number'
  | 'block_hash'
  | 'tx_index'
  | 'anchored_at';

/** One thing that was looked at, and whether it holds. */
export interface AuditCheck {
  readonly name: AuditCheckName;
  readonly ok: boolean;
  /** A sentence for people: what holds, or what does not. */
  readonly detail: string;
}

/** One check and its sentence. */
export function check(
  name: AuditCheckName,
  ok: boolean,
  details: { readonly holds: string; readonly fails: string },
): AuditCheck {
  return { name, ok, detail: ok ? details.holds : details.fails };
}

/** Whether every check holds; of no check at all, nothing is proven. */
export function isProven(checks: readonly Pick<AuditCheck, 'ok'>[]): boolean {
  return checks.length > 0 && checks.every(({ ok }) => ok);
}

/** `stated` comes from a file that anyone may have written. */
export function sameHex(read: string, stated: unknown): boolean {
  return typeof stated === 'string' && read.toLowerCase() === stated.toLowerCase();
}
