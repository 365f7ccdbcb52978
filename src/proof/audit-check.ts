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

/** Whether every check holds. */
export function isProven(checks: readonly Pick<AuditCheck, 'ok'>[]): boolean {
  return checks.length > 0 && checks.every(({ ok }) => ok);
}

/** `stated` comes from a file that anyone may have written. */
export function sameHex(read: string, stated: unknown): boolean {
  return typeof stated === 'string' && read.toLowerCase() === stated.toLowerCase();
}
