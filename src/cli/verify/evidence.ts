// Compares evidence with the proof hash, and files and parts of files with those that the evidence lists.
import path from 'node:path';
import type { Output } from '../../base/output/output.ts';
import { withFileProgress } from '../../base/progress.ts';
import { digestFile } from '../../client/files.ts';
import {
  type ComparedFile,
  compareFiles,
  type FileEntry,
  fileText,
  type GivenFile,
  listedFiles,
} from '../../proof/files/manifest.ts';
import { fileOfPart, readPart } from '../../proof/files/part.ts';
import type { Proof } from '../../proof/json-value.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import type { Subject } from '../../proof/subject/subject.ts';
import {
  nameOf,
  namingFile,
  readEvidence as readFile,
  readText,
  reportConverted,
} from '../input/files.ts';
import type { Check } from './anchor.ts';
import { namingDocument } from './subject.ts';

/** Evidence in a file, and its proof hash. */
export interface GivenEvidence {
  file: string;
  hash: string;
  proof: Proof;
}

/** The options of `svc verify` about evidence and files. */
export interface EvidenceInput {
  subject: string;
  proof?: string;
  bigIntegers?: 'string';
  file?: string[];
  part?: string[];
  requireFiles?: boolean;
}

/** Reads the evidence that the caller gave: `--proof`, and the subject itself if it is evidence. */
export async function readEvidence(
  output: Output,
  subject: Subject,
  { subject: argument, proof, bigIntegers: numbers }: EvidenceInput,
): Promise<GivenEvidence[]> {
  const warnOfUnderflow = (file: string) => (pointer: string) =>
    output.warn(
      `The number at ${pointer} in ${nameOf(file)} is too small for a double and counts as 0.`,
    );
  subject.underflows?.forEach(warnOfUnderflow(argument));
  const given: GivenEvidence[] = [];
  if (subject.kind === 'evidence' && subject.proof !== null) {
    given.push({ file: argument, hash: subject.proofHash, proof: subject.proof });
    if (numbers) reportConverted(output, argument, subject.proof);
  }
  if (proof === undefined) return given;
  const onUnderflow = warnOfUnderflow(proof);
  return [...given, { file: proof, ...(await readFile(output, proof, { numbers, onUnderflow })) }];
}

/** The check of each file with evidence. */
export function checkEvidence(given: readonly GivenEvidence[], proofHash: string): Check[] {
  return given.map(({ file, hash, proof }): Check => {
    const ok = hash === proofHash;
    const isBundle = 'chain_id' in proof && 'proof_hash' in proof;
    const hint = isBundle ? '. It is like a bundle, whose evidence is its member proof' : '';
    const other = ok ? 'the proof hash' : `${hash}, the proof hash is ${proofHash}${hint}`;
    return { name: 'evidence', ok, detail: `${nameOf(file)} hashes to ${other}` };
  });
}

/** Whether the checks include the evidence, and passed. */
export function evidenceStatus(
  checks: readonly Check[],
): 'matches' | 'does_not_match' | 'not_included' {
  const found = checks.filter(({ name }) => name === 'evidence');
  if (found.length === 0) return 'not_included';
  return found.every(({ ok }) => ok) ? 'matches' : 'does_not_match';
}

/** Hashes the given files and reads the parts. Compares them with those that the evidence lists. */
export async function checkFiles(
  output: Output,
  proof: Proof | null,
  { file: names = [], part: parts = [], requireFiles = false }: EvidenceInput,
): Promise<{ files: readonly ComparedFile[]; checks: Check[] }> {
  const entries = listedFiles(proof);
  if (typeof entries === 'string') {
    const isNeeded = requireFiles || names.length + parts.length > 0;
    return { files: [], checks: isNeeded ? [{ name: 'files', ok: false, detail: entries }] : [] };
  }
  const given: GivenFile[] = [];
  for (const name of names) {
    const digest = await withFileProgress(output.mayAnimate, (at) => digestFile(name, at));
    given.push({ name: path.basename(name), ...digest });
  }
  const files = compareFiles(entries, given);
  const checks = files
    .filter(({ status }) => requireFiles || status !== 'not_given')
    .map((one): Check => ({ name: 'file', ok: one.status === 'matches', detail: fileText(one) }));
  for (const name of parts) checks.push(await checkPart(name, entries));
  return { files, checks };
}

async function checkPart(name: string, entries: readonly FileEntry[]): Promise<Check> {
  const text = await readText(name);
  const json = namingFile(name, () => parseStrictJson(text));
  const part = namingDocument(nameOf(name), () => readPart(json));
  const file = fileOfPart(part, entries);
  const owner = file === null ? 'not those of a file that the evidence lists' : `in ${file.name}`;
  const detail = `Bytes ${part.first_byte} to ${part.last_byte} are ${owner}`;
  return { name: 'part', ok: file !== null, detail };
}
