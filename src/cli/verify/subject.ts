// Reads what `svc verify` is given, and explains what it cannot recognize.
import { orNull } from '../../base/or-null.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { AuditCheck } from '../../proof/audit-check.ts';
import { type Bundle, readBundle } from '../../proof/bundle.ts';
import { DocumentError } from '../../proof/document-error.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { parseStrictJson, type StrictJsonOptions } from '../../proof/strict-json.ts';
import { StrictJsonError } from '../../proof/strict-json-error.ts';
import { isObject } from '../../proof/subject/members.ts';
import {
  type Recognized,
  recognizeDocument,
  recognizeText,
  type Subject,
} from '../../proof/subject/subject.ts';
import { notCovered } from '../../proof/subject/verdict.ts';
import { nameOf, namingFile, readText } from '../input/files.ts';

/** A promise of a service, as it was answered. */
interface GivenPromise {
  readonly jws: string;
}

/**
 * Recognizes a hash (with or without 0x), a task id, the address of a proof page, or a file (`-` for standard input)
 * with a receipt, a bundle, evidence or a promise. Standard input may also hold one of the texts.
 */
export async function readSubject(
  argument: string,
  options?: Pick<StrictJsonOptions, 'numbers'>,
): Promise<Recognized | GivenPromise> {
  const recognized = recognizeText(argument);
  if (recognized !== null) return recognized;
  if (/^(?:https?:|0x[0-9a-f]*$)/i.test(argument)) {
    const forms = '0x and 64 hex digits, or …/verify/0x and 64 digits';
    throw new SvcError('usage', `${argument} is not a hash or the address of a proof: ${forms}.`);
  }
  const text = await readText(argument);
  const jws = promiseIn(text);
  if (jws !== null) return { jws };
  const name = nameOf(argument);
  const content = recognizeText(text.trim());
  if (content !== null && argument === '-') return content;
  if (content?.kind === 'proof hash') throw mayBeKey(name);
  return namingFile(argument, () => namingDocument(name, () => recognizeDocument(text, options)));
}

const JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Longest text that is searched for a promise: large evidence is parsed once. */
const MAX_PROMISE_TEXT = 1_000_000;

/**
 * The JWS of a promise: the whole text, a JSON string, or the member `promise` of an object that has nothing else, of a
 * response about tasks that wait for their anchors, or of a completion that svc-agent spool export wrote.
 */
function promiseIn(text: string): string | null {
  const found = JWS.test(text.trim()) ? text.trim() : promiseInJson(text);
  return typeof found === 'string' && JWS.test(found) ? found : null;
}

function promiseInJson(text: string): JsonValue | undefined {
  if (text.length > MAX_PROMISE_TEXT) return undefined;
  const json = orNull(() => parseStrictJson(text), [StrictJsonError]);
  if (json === null || !isObject(json)) return json ?? undefined;
  const { promise, ...others } = json;
  const isAnswer = others.status === 'pending' || others.kind === 'completion';
  return isAnswer || Object.keys(others).every((name) => name === 'items') ? promise : undefined;
}

/** The options of `svc verify` that check a subject against the chain. */
export function chainOptionsOf({ bundle }: Pick<Subject, 'bundle'>): string {
  const hasChainProof = bundle?.chain_proof !== undefined;
  return hasChainProof ? '--rpc-url URL, or with --block-hash HASH' : '--rpc-url URL';
}

/** Adds the document's name to its error. Throws `invalid_document`, and `unknown_member` for a member that no check covers. */
export function namingDocument<Result>(name: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    const { document, unknownMember, message } = error;
    if (unknownMember === null) {
      throw new SvcError('invalid_document', `${name} is not a ${document}: ${message}.`, {
        hint: 'Give a hash, a receipt, a bundle, evidence, a promise, a task id or the address of a proof. If the format is newer than svc, update svc.',
      });
    }
    const text = `NOT verified. ${notCovered(unknownMember, name)}`;
    throw new SvcError('unknown_member', text, {
      hint: 'Verify the receipt or bundle alone, as the service wrote it. To check evidence, use --proof FILE.',
    });
  }
}

/** Throws `usage` for a file that is not a bundle. */
export async function readBundleFile(file: string): Promise<Bundle> {
  const subject = await readSubject(file);
  if ('bundle' in subject && subject.bundle !== null) return subject.bundle;
  throw new SvcError('usage', `${nameOf(file)} is not a bundle.`);
}

/** The bundle in an answer of the service. Throws `unexpected_answer`. */
export function bundleOfService(body: unknown): Bundle {
  try {
    return readBundle(body as JsonValue);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    const message = `The service sent an invalid bundle: ${error.message}.`;
    throw new SvcError('unexpected_answer', message);
  }
}

/** Throws `unsound_bundle` if a check of a bundle failed. */
export function requireSound(checks: readonly AuditCheck[], hint?: string): void {
  const failed = checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);
  if (failed.length === 0) return;
  throw new SvcError('unsound_bundle', `The bundle is not sound: ${failed.join('; ')}.`, { hint });
}

/** A private key looks like a hash, and verifying it would send it to the service. */
function mayBeKey(name: string): SvcError {
  const message = `${name} contains only 64 hex digits and may be a private key; nothing was sent.`;
  return new SvcError('usage', message, {
    hint: 'Give the proof hash itself (svc verify 0x…), or pipe it to svc verify -',
  });
}
