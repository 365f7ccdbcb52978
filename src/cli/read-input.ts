import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { SvcError } from '../base/svc-error.ts';
import { isProof, type JsonValue, type Proof } from '../proof/json-value.ts';
import { parseStrictJson, type StrictJsonOptions } from '../proof/strict-json.ts';
import { StrictJsonError } from '../proof/strict-json-error.ts';
import { decodeUtf8 } from '../proof/utf8.ts';

/** A JSON document from a file, or from standard input for `-`, read as strictly as the service reads a proof. */
export async function readJson(file: string, options: StrictJsonOptions = {}): Promise<JsonValue> {
  const bytes = await readBytes(file);
  try {
    return parseStrictJson(decodeUtf8(bytes), options);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new SvcError('invalid_document', `${nameOf(file)}: ${error.message}`);
  }
}

/** Evidence: a JSON object or array. */
export async function readProof(file: string): Promise<Proof> {
  const value = await readJson(file);
  if (!isProof(value)) {
    throw new SvcError('invalid_document', `${nameOf(file)}: a proof is a JSON object or array`);
  }
  return value;
}

async function readBytes(file: string): Promise<Uint8Array> {
  if (file === '-') return buffer(process.stdin);
  try {
    return await readFile(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
    throw new SvcError('usage', `${file}: ${reason}`);
  }
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}
