// The checks of an audit and their results.
/** The names of the checks of `auditSigning`, which documents them. */
export type SigningCheckName =
  | 'stripped'
  | 'key'
  | 'wallet_signature'
  | 'kid'
  | 'claim_signature'
  | 'result_signature'
  | 'claim_statement'
  | 'result_statement'
  | 'numbers'
  | 'key_anchor'
  | 'claim_anchor'
  | 'revocation_anchor'
  | 'revocation'
  | 'owner'
  | 'robot_key';

/** The names of the checks. `auditAnchor`, `auditBundle`, `auditBundleAlone`, `auditChainProof` and `auditSigning` document theirs. */
export type AuditCheckName =
  | SigningCheckName
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
  | 'anchored_at'
  | 'header'
  | 'transaction_path'
  | 'signature';

/** The result of one check. */
export interface AuditCheck {
  readonly name: AuditCheckName;
  readonly ok: boolean;
  /** The result as a sentence for people. */
  readonly detail: string;
}

/** Builds the result of a check with its sentence. */
export function check(
  name: AuditCheckName,
  ok: boolean,
  details: { readonly holds: string; readonly fails: string },
): AuditCheck {
  return { name, ok, detail: ok ? details.holds : details.fails };
}

/** Whether every check passed. False without any check. */
export function isProven(checks: readonly Pick<AuditCheck, 'ok'>[]): boolean {
  return checks.length > 0 && checks.every(({ ok }) => ok);
}

/**
 * Fails `sender` unless `sender` is one of `expected`, addresses in any case. An empty list expects nothing. An unknown
 * sender keeps the reason why it is unknown.
 */
export function expectSender(
  checks: readonly AuditCheck[],
  sender: string | null,
  expected: readonly string[],
): AuditCheck[] {
  const isExpected = expected.length === 0 || expected.some((one) => one.toLowerCase() === sender);
  const detail = `Sent by ${sender}, expected: ${expected.join(' or ')}`;
  return checks.map((one) => {
    if (one.name !== 'sender' || isExpected) return one;
    return sender === null ? { ...one, ok: false } : { ...one, ok: false, detail };
  });
}

/** Compares hex in any case. `stated` is untrusted: it may have any type. */
export function sameHex(read: string, stated: unknown): boolean {
  return typeof stated === 'string' && read.toLowerCase() === stated.toLowerCase();
}
