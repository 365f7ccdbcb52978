// Compares evidence in files with the proof hash.

import type { Output } from '../../base/output/output.ts';
import type { Proof } from '../../proof/json-value.ts';
import type { StrictJsonOptions } from '../../proof/strict-json.ts';
import type { Subject } from '../../proof/subject/subject.ts';
import { nameOf, readEvidence as readFile, reportConverted } from '../input/files.ts';
import { type Check, evidenceOf, type Finding } from './finding.ts';

/** Evidence in a file, and its proof hash. */
export interface GivenEvidence {
  file: string;
  hash: string;
  proof: Proof;
}

/** Reads the files of evidence that the caller gave: `--proof`, and the subject itself if it is evidence. */
export async function readEvidence(
  output: Output,
  subject: Subject,
  {
    argument,
    proof,
    numbers,
  }: { argument: string; proof: string | undefined } & Pick<StrictJsonOptions, 'numbers'>,
): Promise<GivenEvidence[]> {
  for (const pointer of subject.underflows ?? []) output.warn(underflowText(argument, pointer));
  const given =
    subject.kind === 'evidence' && subject.proof !== null
      ? [{ file: argument, hash: subject.proofHash, proof: subject.proof }]
      : [];
  for (const one of numbers ? given : []) reportConverted(output, argument, one.proof);
  if (proof === undefined) return given;
  const read = await readFile(output, proof, {
    numbers,
    onUnderflow: (pointer) => output.warn(underflowText(proof, pointer)),
  });
  return [...given, { file: proof, ...read }];
}

/** The check of each file. */
export function checkEvidence(given: readonly GivenEvidence[], { proofHash }: Subject): Check[] {
  return given.map(({ file, hash, proof }): Check => {
    const ok = hash === proofHash;
    const isBundle = 'chain_id' in proof && 'proof_hash' in proof;
    const hint = isBundle ? '. It is like a bundle, whose evidence is its member proof' : '';
    const other = ok ? 'the proof hash' : `${hash}, the proof hash is ${proofHash}${hint}`;
    return { name: 'evidence', ok, detail: `${nameOf(file)} hashes to ${other}` };
  });
}

/** Fails a finding without evidence (`--require-evidence`). */
export function requiringEvidence(finding: Finding): Finding {
  if (evidenceOf(finding) !== 'not_included') return finding;
  const check: Check = { name: 'evidence_required', ok: false, detail: 'No evidence was given' };
  return { ...finding, outcome: 'not_verified', checks: [check, ...finding.checks] };
}

function underflowText(file: string, pointer: string): string {
  return `The number at ${pointer} in ${nameOf(file)} is too small for a double and counts as 0.`;
}
