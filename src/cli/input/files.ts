// Reads the files that a command is given: text, JSON, evidence and its hash.
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Output } from '../../base/output/output.ts';
import { withFileProgress } from '../../base/progress.ts';
import { SvcError, unreadableFile } from '../../base/svc-error.ts';
import { attachFiles } from '../../client/files.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import { hashProof } from '../../proof/hash.ts';
import { isProof, type Proof } from '../../proof/json-value.ts';
import {
  type ParseOptions,
  parseStrictJson,
  type StrictJsonOptions,
} from '../../proof/strict-json.ts';
import { CHANGED_INTEGER, StrictJsonError } from '../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../proof/utf8.ts';
import { withProgress } from '../output/progress.ts';

/** Reads a file as UTF-8 text; `-` is standard input. */
export async function readText(file: string): Promise<string> {
  const bytes = await readBytes(file);
  return namingFile(file, () => decodeUtf8(bytes));
}

/** Parses evidence: a JSON object or array. */
function parseProof(file: string, text: string, options: ParseOptions): Proof {
  const value = namingFile(file, () => parseStrictJson(text, options));
  if (!isProof(value)) {
    const message = `${nameOf(file)} is not a proof: a proof is a JSON object or array.`;
    throw new SvcError('invalid_document', message);
  }
  return value;
}

/**
 * Evidence in a file, or in standard input for `-`, with the files that are attached to it, and its proof hash. Large
 * evidence and files show progress.
 */
export async function readEvidence(
  output: Output,
  file: string,
  { attach = [], ...options }: StrictJsonOptions & { attach?: readonly string[] | undefined } = {},
): Promise<{ proof: Proof; hash: string }> {
  const text = await readText(file);
  const given = withProgress(output, 'Reading the evidence', (at) =>
    parseProof(file, text, { ...options, onRead: (done) => at(done / text.length) }),
  );
  const proof =
    attach.length === 0
      ? given
      : await withFileProgress(output.mayAnimate, (onRead) => attachFiles(given, attach, onRead));
  const hash = withProgress(output, 'Hashing the evidence', (at) =>
    hashProof(proof, (done) => at(done / text.length)),
  );
  if (options.numbers) reportConverted(output, file, proof);
  return { proof, hash };
}

/** With `--big-integers`, the hash is that of another document than the file holds. */
export function reportConverted(output: Output, file: string, proof: Proof): void {
  output.warn(`This document is hashed instead of ${nameOf(file)}. Keep it:`);
  process.stderr.write(`${canonicalJson(proof)}\n`);
}

/** Adds the name of the file to a parse error. */
export function namingFile<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new SvcError('invalid_document', `${nameOf(file)}: ${error.message}.`, {
      hint:
        error.reason === CHANGED_INTEGER
          ? 'svc hash, svc verify and svc-agent complete convert such integers with --big-integers string.'
          : 'If you received this file, it may be incomplete, or was saved in another format. Ask for it again.',
    });
  }
}

async function readBytes(file: string): Promise<Uint8Array> {
  if (file === '-') return buffer(process.stdin);
  try {
    return await readFile(file);
  } catch (error) {
    throw unreadableFile(file, error);
  }
}

/** The name of a file in a sentence. */
export function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}
