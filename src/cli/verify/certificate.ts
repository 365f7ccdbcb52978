// `svc verify --report`: writes the result as a certificate.
import path from 'node:path';
import { create } from 'qrcode';
import { type Certificate, certificateDocument } from '../../proof/subject/certificate.ts';
import { reasonsOf, signedBy } from '../../proof/subject/verdict.ts';
import type { Context } from '../context.ts';
import { saveFile } from '../output/save-file.ts';
import { notProvenBy, type Report, sinceOf, unprovenOf } from './report.ts';

interface CertificateInput {
  /** The file to write. */
  report: string;
  subject: string;
  blockHash?: string;
  rpcUrl?: string[];
}

/** Writes nothing while there is no anchor. Throws `file_not_written`. */
export async function writeCertificate(
  { output }: Pick<Context, 'output'>,
  report: Report,
  input: CertificateInput,
): Promise<void> {
  const certificate = certificateOf(report, input);
  if (certificate === null) {
    output.warn(`${input.report} was not written: there is no anchor to report.`);
    return;
  }
  const text = certificate.address ?? certificate.stated.proof_hash;
  const { modules } = create(text, { errorCorrectionLevel: 'M' });
  await saveFile(input.report, certificateDocument(certificate, modules));
  output.note(`Wrote ${input.report}.`);
}

function certificateOf(
  report: Report,
  { subject: argument, blockHash, rpcUrl }: CertificateInput,
): Certificate | null {
  const { outcome, subject, answer, identity, checks, sender, signing } = report;
  const { stated, bundle, proof, proofHash } = subject;
  if (stated === null) return null;
  const isVerified = outcome === 'verified';
  const isRead = isVerified || outcome === 'unnamed';
  // An RPC URL may have a key.
  const chain = blockHash ? ` --block-hash ${blockHash}` : rpcUrl ? ' --rpc-url URL' : '';
  return {
    isVerified,
    verdict: [
      ...(outcome === 'unnamed' ? ['Anchored by an account that was not named.'] : []),
      ...(isRead ? [sinceOf(report) ?? ''] : reasonsOf(checks)),
      ...(isRead && signing.report ? signedBy(signing.report) : []),
    ].filter(Boolean),
    checkedAt: new Date().toISOString(),
    stated: { ...stated, ...(sender !== null && { from: sender }) },
    blockHash: report.block?.hash ?? bundle?.anchor.block_hash ?? null,
    claim: bundle?.claim ?? null,
    proof,
    unproven: unprovenOf(report),
    issuer: identity.namedBy === null ? 'not named' : `named by ${identity.namedBy}`,
    accounts: sender === null ? [] : [sender],
    checks,
    notProven: notProvenBy(report),
    command: `svc verify ${path.basename(argument)}${chain}${answer ? ` --url ${answer.url}` : ''}`,
    address: answer && `${answer.url}/verify/${proofHash}?task_id=${stated.task_id}`,
  };
}
