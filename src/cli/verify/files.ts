// Compares files and parts of files with those that the evidence lists.
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
import { type FilePart, fileOfPart, readPart } from '../../proof/files/part.ts';
import type { Proof } from '../../proof/json-value.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import { nameOf, namingFile, readText } from '../input/files.ts';
import type { Check } from './finding.ts';
import { namingDocument } from './subject.ts';

/** The options of `svc verify` about files. */
export interface FilesInput {
  file?: string[];
  part?: string[];
  requireFiles?: boolean;
}

/** Hashes the given files and reads the parts. What became of each file, and the checks of what was given or must be. */
export async function checkFiles(
  output: Output,
  proof: Proof | null,
  { file: names = [], part: documents = [], requireFiles = false }: FilesInput,
): Promise<{ files: readonly ComparedFile[]; checks: Check[] }> {
  const entries = listedFiles(proof);
  if (typeof entries === 'string') {
    const isAsked = requireFiles || names.length + documents.length > 0;
    return { files: [], checks: isAsked ? [{ name: 'files', ok: false, detail: entries }] : [] };
  }
  const given: GivenFile[] = [];
  for (const name of names) {
    const digest = await withFileProgress(output.mayAnimate, (at) => digestFile(name, at));
    given.push({ name: path.basename(name), ...digest });
  }
  const files = compareFiles(entries, given);
  const checks: Check[] = files
    .filter(({ status }) => requireFiles || status !== 'not_given')
    .map(
      (file): Check => ({ name: 'file', ok: file.status === 'matches', detail: fileText(file) }),
    );
  for (const name of documents) checks.push(checkPart(await readPartIn(name), entries));
  return { files, checks };
}

async function readPartIn(file: string): Promise<FilePart> {
  const text = await readText(file);
  const json = namingFile(file, () => parseStrictJson(text));
  return namingDocument(nameOf(file), () => readPart(json));
}

function checkPart(part: FilePart, entries: readonly FileEntry[]): Check {
  const file = fileOfPart(part, entries);
  const whose = file === null ? 'not those of a file that the evidence lists' : `in ${file.name}`;
  const detail = `Bytes ${part.first_byte} to ${part.last_byte} are ${whose}`;
  return { name: 'part', ok: file !== null, detail };
}
