// Reads a file with evidence or a bundle, without sending it anywhere.
import {
  type Bundle,
  MAX_BUNDLE_DEPTH,
  readBundle,
  saysItIsBundle,
} from '../../../proof/bundle.ts';
import { BundleError } from '../../../proof/bundle-error.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { hashProof } from '../../../proof/hash.ts';
import { isProof } from '../../../proof/json-value.ts';
import { parseStrictJson } from '../../../proof/strict-json.ts';
import { StrictJsonError } from '../../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../../proof/utf8.ts';
import type { limits } from '../../../protocol/limits.ts';

/** The content of a file. */
export type Subject =
  | { kind: 'evidence'; file: string; hash: Hex }
  | { kind: 'bundle'; file: string; bundle: Bundle }
  | { kind: 'error'; file: string; message: string };

const MAX_BYTES: typeof limits.bodyBytes = 2_097_152;

/** Reads evidence or a bundle as strictly as the service does. Nothing leaves the browser. */
export async function readSubject(file: File): Promise<Subject> {
  const unreadable = (message: string): Subject => ({ kind: 'error', file: file.name, message });
  if (file.size > MAX_BYTES) return unreadable('The file is larger than 2 MiB.');
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    const document = parseStrictJson(decodeUtf8(bytes), { maxDepth: MAX_BUNDLE_DEPTH });
    if (saysItIsBundle(document)) {
      return { kind: 'bundle', file: file.name, bundle: readBundle(document) };
    }
    if (!isProof(document)) return unreadable('Evidence is a JSON object or array.');
    return { kind: 'evidence', file: file.name, hash: hashProof(document) };
  } catch (error) {
    if (error instanceof StrictJsonError || error instanceof BundleError) {
      return unreadable(`${error.message}.`);
    }
    throw error;
  }
}
