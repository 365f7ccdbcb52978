// Reads a folder with archives and bundles of one robot as one archive.
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { SvcError } from '../../base/svc-error.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import { MAX_BUNDLE_DEPTH, readBundle, saysItIsBundle } from '../../proof/bundle.ts';
import type { JsonObject, JsonValue } from '../../proof/json-value.ts';
import { ARCHIVE_FORMAT } from '../../proof/statements/archive.ts';
import {
  auditSigning,
  expectSigned,
  type SigningPins,
} from '../../proof/statements/audit-signing.ts';
import { kidOf, readGrantText } from '../../proof/statements/key-text.ts';
import type { Signing } from '../../proof/statements/signing.ts';
import { readStatement } from '../../proof/statements/statement.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import { namingFile, readText } from '../input/files.ts';
import { isArchive, linesOf } from './archive.ts';
import { namingDocument } from './subject.ts';

/**
 * The lines of all archives and signed bundles in a folder, in the order of an archive; null if `folder` is none. Other files
 * are left out. Calls `refuse` with the reason for a bundle that does not hold, or is unsigned although a signer is
 * expected. Holds the statements in memory, about 1 KiB each.
 */
export async function openFolder(
  folder: string,
  pins: SigningPins,
  refuse: (reason: string) => void,
): Promise<AsyncGenerator<JsonValue> | null> {
  const found = await stat(folder).catch(() => null);
  return found?.isDirectory() ? linesOfFolder(folder, pins, refuse) : null;
}

async function* linesOfFolder(
  folder: string,
  pins: SigningPins,
  refuse: (reason: string) => void,
): AsyncGenerator<JsonValue> {
  const keys = new Map<string, { line: JsonObject; statements: JsonObject[] }>();
  let owner: JsonValue | null = null;
  for (const name of (await readdir(folder)).toSorted()) {
    const file = path.join(folder, name);
    const lines = (await isArchive(file)) ? linesOf(file) : linesOfBundle(file, pins, refuse);
    let statements: JsonObject[] = [];
    for await (const value of lines) {
      const line = value as JsonObject; // `ArchiveAudit` checks each line.
      if (typeof line?.text === 'string') {
        const key = keys.get(kidOf(line.text)) ?? { line, statements: [] };
        keys.set(kidOf(line.text), key);
        // An older file does not have the revocation.
        if (line.revocation !== null) key.line = line;
        statements = key.statements;
      } else if (line?.format === undefined) statements.push(line);
      else {
        owner ??= line;
        statements = [];
      }
    }
  }
  if (owner === null) {
    throw new SvcError('usage', `${folder} has no archive and no bundle of signed work.`);
  }
  yield owner;
  const firstOf = ({ line }: { line: JsonObject }) => readGrantText(String(line.text)).first_number;
  for (const { line, statements } of [...keys.values()].sort((a, b) => firstOf(a) - firstOf(b))) {
    yield line;
    // Of two with one number, a statement that is not withheld stands first.
    const rankOf = (one: JsonObject) => Number(one?.number) + (one?.statement === null ? 0.5 : 0);
    yield* statements.sort((a, b) => rankOf(a) - rankOf(b));
  }
}

/** The lines that an archive would have for a signed bundle. Nothing for other files. */
async function* linesOfBundle(
  file: string,
  pins: SigningPins,
  refuse: (reason: string) => void,
): AsyncGenerator<JsonValue> {
  if (!file.endsWith('.json')) return;
  const text = await readText(file);
  const json = namingFile(file, () => parseStrictJson(text, { maxDepth: MAX_BUNDLE_DEPTH }));
  if (!saysItIsBundle(json)) return;
  const bundle = namingDocument(file, () => readBundle(json));
  const signed = await auditSigning(bundle);
  const checks = [...auditBundleAlone(bundle), ...(signed?.checks ?? expectSigned(false, pins))];
  const reasons = checks.filter(({ ok }) => !ok).map(({ detail }) => detail);
  if (reasons.length > 0) refuse(`${file}: ${reasons.join('; ')}`);
  if (bundle.signing !== undefined) yield* linesOfSigning(bundle.signing);
}

function* linesOfSigning({ key, revocation, claim, result }: Signing): Generator<JsonValue> {
  const { text, signature } = key;
  const { origin, wallet, robot_id } = readGrantText(text);
  yield { format: ARCHIVE_FORMAT, origin, wallet, robot_id };
  const revoked = revocation && { text: revocation.text, signature: revocation.signature };
  yield { public_key: { ...key.public_key }, text, signature, revocation: revoked };
  for (const { statement } of claim === null ? [result] : [claim, result]) {
    const { statement: stated, signedHash, statementHash } = readStatement(statement);
    const hashes = { signed_hash: signedHash, statement_hash: statementHash };
    yield { number: stated.number, ...hashes, statement };
  }
}
