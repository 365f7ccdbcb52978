import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { SvcError } from '../../base/svc-error.ts';
import { unreadableFile } from '../../base/unreadable-file.ts';
import { isProof, type JsonValue, type Proof } from '../../proof/json-value.ts';
import { type ParseOptions, parseStrictJson } from '../../proof/strict-json.ts';
import { StrictJsonError } from '../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../proof/utf8.ts';

/** The text of a file, or of standard input for `-`. */
export async function readText(file: string): Promise<string> {
  const bytes = await readBytes(file);
  return saying(file, () => decodeUtf8(bytes));
}

/** A JSON document, read as strictly as the service reads a proof; `file` says where the text is from. */
export function parseJson(file: string, text: string, options: ParseOptions = {}): JsonValue {
  return saying(file, () => parseStrictJson(text, options));
}

/** Evidence: a JSON object or array. */
export function parseProof(file: string, text: string, options: ParseOptions = {}): Proof {
  const value = parseJson(file, text, options);
  if (!isProof(value)) {
    throw new SvcError('invalid_document', `${nameOf(file)}: a proof is a JSON object or array`);
  }
  return value;
}

/** Says in which file the fault is. */
function saying<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new SvcError('invalid_document', `${nameOf(file)}: ${error.message}`);
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

/** For a sentence. */
export function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}
