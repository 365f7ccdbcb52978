// Verifies an anchor in one of three ways: with the hash of its block, with nodes of the chain, or with the service.
import { isDeepStrictEqual } from 'node:util';
import type { AnchorAudit, VerifyOptions } from '../../chain/verify-anchor.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import { expectSender } from '../../proof/audit-check.ts';
import { auditChainProof, signerOf } from '../../proof/chain-proof.ts';
import type { Subject } from '../../proof/subject/subject.ts';
import type { VerdictCheckName } from '../../proof/subject/verdict.ts';
import type { Context } from '../context.ts';
import { askService, type ServiceAnswer } from './service.ts';

export interface Check {
  name: VerdictCheckName;
  ok: boolean;
  /** A sentence for people. */
  detail: string;
}

/** The result of verifying an anchor. */
export interface AnchorResult {
  /**
   * The source of the data that was checked: transaction, transaction receipt and block at the nodes, only the block at
   * the nodes, a block hash of the caller, or the service.
   */
  basis: 'chain' | 'block' | 'block_hash' | 'service';
  /** The subject. If no document states the anchor, with what the service states. */
  subject: Subject;
  /** Null if the service was not asked about the subject. */
  answer: ServiceAnswer | null;
  checks: readonly Check[];
  /** The account that sent the anchor. */
  sender: string | null;
  /** Decimal. */
  confirmations: string | null;
  finality: string | null;
  nodes: AnchorAudit['nodes'];
  /** The block of the anchor, as the first node has it; null if none was asked. */
  block: AnchorAudit['block'];
}

/** A result of which only basis and subject are known. */
const empty = {
  answer: null,
  checks: [],
  sender: null,
  confirmations: null,
  finality: null,
  nodes: [],
  block: null,
};

/** Checks a bundle against the hash of its block, without a connection. */
export function verifyOffline(
  subject: Subject,
  blockHash: string,
  anchorAddresses: readonly string[],
): AnchorResult {
  if (subject.bundle === null) throw new TypeError('Only a bundle can be verified offline.');
  const sender = signerOf(subject.bundle);
  const checks = expectSender(auditChainProof(subject.bundle, blockHash), sender, anchorAddresses);
  return { ...empty, basis: 'block_hash', subject, checks, sender };
}

/** Checks a receipt, a bundle, or the anchor that the service states for a hash or evidence, with nodes of the chain. */
export async function verifyOnChain(
  context: Context,
  given: Subject,
  options: VerifyOptions,
): Promise<AnchorResult> {
  const { subject, answer } =
    given.stated === null ? await askService(context, given) : { subject: given, answer: null };
  const { bundle, stated } = subject;
  const basis = bundle?.chain_proof === undefined || options.full ? 'chain' : 'block';
  const finality = answer?.verification.anchor.finality ?? null;
  if (stated === null) return { ...empty, basis, subject, answer, finality };
  const { verifyAnchor } = await import('../../chain/verify-anchor.ts');
  const audit = await verifyAnchor(bundle ?? stated, options);
  const confirmations = audit.confirmations?.toString() ?? null;
  return { basis, subject, answer, ...audit, confirmations };
}

/**
 * Checks what the service states. A bundle that contradicts itself is not verified, whatever the service states: then
 * the service is not asked.
 */
export async function verifyWithService(
  context: Context,
  given: Subject,
  anchorAddresses: readonly string[],
): Promise<AnchorResult> {
  const { bundle } = given;
  const checks: Check[] =
    bundle === null
      ? []
      : expectSender(auditBundleAlone(bundle), signerOf(bundle), anchorAddresses);
  if (!checks.every(({ ok }) => ok)) {
    return { ...empty, basis: 'service', subject: given, checks };
  }
  const { subject, answer } = await askService(context, given);
  const { from, confirmations, finality } = answer.verification.anchor;
  const result: AnchorResult = { ...empty, basis: 'service', subject, answer, checks, finality };
  if (answer.stated === null) return result;
  checks.push(...checkAnswer(answer, given.stated, anchorAddresses));
  return { ...result, sender: from?.toLowerCase() ?? null, confirmations };
}

/** The hash of the anchoring transaction; null while there is none. */
export function txHashOf({ subject, answer }: AnchorResult): string | null {
  return subject.stated?.tx_hash ?? answer?.verification.anchor.tx_hash ?? null;
}

/** Checks the service's answer, and compares it with the document and with the accounts that the caller named. */
function checkAnswer(
  { verification: { verified, anchor }, stated }: ServiceAnswer,
  document: StatedAnchor | null,
  anchorAddresses: readonly string[],
): Check[] {
  const checks: Check[] = [
    {
      name: 'service',
      ok: verified && anchor.on_chain_payload_found,
      detail: verified
        ? 'The service states that the anchor is in the chain'
        : 'The service does not confirm the anchor',
    },
  ];
  if (document !== null && stated !== null) {
    const names = Object.keys(document) as (keyof StatedAnchor)[];
    const differing = names.filter(
      (name) => name in stated && !isSame(document[name], stated[name]),
    );
    const ok = differing.length === 0;
    const detail = ok
      ? 'The service states the same as the file'
      : `The service and the file differ in ${differing.join(', ')}`;
    checks.push({ name: 'statement', ok, detail });
  }
  if (anchorAddresses.length > 0) {
    const ok = anchorAddresses.some((address) => isSame(address, stated?.from));
    const account = ok ? 'the expected account' : 'another account';
    checks.push({ name: 'sender', ok, detail: `The service states that ${account} sent it` });
  }
  return checks;
}

/** Compares hex in any case. */
function isSame(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a.toLowerCase() === b.toLowerCase();
  return isDeepStrictEqual(a, b);
}
