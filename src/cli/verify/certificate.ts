// `svc verify --report`: writes the result as a certificate.
import path from 'node:path';
import { create } from 'qrcode';
import { type Certificate, certificateDocument } from '../../proof/subject/certificate.ts';
import { reasonsOf, signedBy } from '../../proof/subject/verdict.ts';
import type { Context } from '../context.ts';
import { saveFile } from '../output/save-file.ts';
import type { VerifyInput } from './options.ts';
import { notProvenBy, type Report, sinceOf, unprovenOf } from './report.ts';

/** `report`: the file to write. */
type CertificateInput = VerifyInput & { report: string };

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

function certificateOf(report: Report, input: CertificateInput): Certificate | null {
  const { outcome, basis, subject, answer, identity, checks, sender, signing } = report;
  const { stated, bundle, proof, proofHash } = subject;
  if (stated === null) return null;
  const isRead = outcome === 'verified' || outcome === 'unnamed';
  return {
    result: outcome !== 'verified' ? 'refuted' : basis === 'service' ? 'stated' : 'verified',
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
    command: commandOf(input, answer?.url),
    address: answer && `${answer.url}/verify/${proofHash}?task_id=${stated.task_id}`,
  };
}

/** The same verification, for a shell. An RPC URL may have a key, so it is left out. */
function commandOf(input: CertificateInput, serviceUrl: string | undefined): string {
  const { subject, rpcUrl, blockHash, full, proof, anchorAddress, owner, robotKey } = input;
  const { bundle, file, part, bigIntegers, requireEvidence, requireFiles } = input;
  const options = {
    'rpc-url': rpcUrl && 'URL',
    'block-hash': blockHash,
    full,
    proof: proof && path.basename(proof),
    'anchor-address': anchorAddress,
    owner,
    'robot-key': robotKey,
    bundle,
    'big-integers': bigIntegers,
    'require-evidence': requireEvidence,
    file,
    'require-files': requireFiles,
    part,
    url: serviceUrl,
  };
  const words = Object.entries(options).flatMap(([name, value]) =>
    [value || []].flat().map((one) => (one === true ? `--${name}` : `--${name} ${quoted(one)}`)),
  );
  return ['svc verify', quoted(path.basename(subject)), ...words].join(' ');
}

function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
