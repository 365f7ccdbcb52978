// Checks the robot's signatures in a bundle, alone or with nodes of the chain, and who is expected to have signed.
import { SvcError } from '../../base/svc-error.ts';
import {
  auditSigning,
  expectSigned,
  type SigningOptions,
  type SigningPins,
  type SigningReport,
} from '../../proof/statements/audit-signing.ts';
import { BASE64URL_32 } from '../../proof/statements/base64url.ts';
import type { Subject } from '../../proof/subject/subject.ts';
import type { Check } from './anchor.ts';

/** What the document shows about signatures: those of a bundle, the hash of one in a receipt, or none. */
export interface SigningResult {
  /** Null without a document. */
  status: 'signed' | 'hash_only' | 'unsigned' | null;
  report: SigningReport | null;
  checks: readonly Check[];
}

/** @throws SvcError `usage` if the subject cannot show who signed. */
export function requirePinnable(
  { bundle, stated }: Subject,
  { owner, robotKey }: SigningPins,
): void {
  if (owner === undefined && robotKey === undefined) return;
  if (robotKey !== undefined && !BASE64URL_32.pattern.test(robotKey)) {
    throw new SvcError('usage', '--robot-key must be a thumbprint: 43 characters of base64url.');
  }
  if (bundle !== null || (stated !== null && stated.statement_hash === undefined)) return;
  throw new SvcError('usage', '--owner and --robot-key need a bundle (svc-bundle/3).', {
    hint: 'A hash does not show who signed, and a receipt has only the hash of the statement. Get the bundle with svc bundle TASK.',
  });
}

export async function verifySigning(
  { bundle, stated, kind }: Subject,
  pins: SigningPins,
  nodes: { rpcUrls: readonly string[]; full: boolean | undefined },
): Promise<SigningResult> {
  if (bundle?.signing !== undefined) {
    const report = await auditSigning(bundle, { ...pins, ...(await askNodes(nodes)) });
    return { status: 'signed', report, checks: report?.checks ?? [] };
  }
  const isDocument = bundle !== null || kind === 'receipt' || kind === 'task id';
  const isSigned = stated?.statement_hash != null;
  const status = !isDocument ? null : isSigned ? 'hash_only' : 'unsigned';
  return { status, report: null, checks: isDocument ? expectSigned(isSigned, pins) : [] };
}

/** The questions that only nodes can answer: of several, all must agree. Nothing without a node. */
export async function askNodes(nodes: {
  rpcUrls: readonly string[];
  full: boolean | undefined;
}): Promise<SigningOptions> {
  if (nodes.rpcUrls.length === 0) return {};
  const { verifyAnchor } = await import('../../chain/verify-anchor.ts');
  const { isContractSignature, mayBeContractSignature } = await import('../../chain/signatures.ts');
  const { readingAt } = await import('../../chain/rpc.ts');
  return {
    auditLeaf: async (leaf) => (await verifyAnchor(leaf, nodes)).checks,
    askWallet: async (wallet, message, signature) => {
      if (!mayBeContractSignature(signature)) return false;
      const claim = { wallet, message, signature };
      const answers = await Promise.all(
        nodes.rpcUrls.map((url) => readingAt(url, (ask) => isContractSignature(ask, claim))),
      );
      return answers.every(Boolean);
    },
  };
}
