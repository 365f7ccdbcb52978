// Recognizes what a person pastes or drops, without sending it anywhere.
import { DocumentError } from '../../../proof/document-error.ts';
import { StrictJsonError } from '../../../proof/strict-json-error.ts';
import {
  type Recognized,
  recognizeDocument,
  recognizeText,
} from '../../../proof/subject/subject.ts';
import { notCovered } from '../../../proof/subject/verdict.ts';
import { decodeUtf8 } from '../../../proof/utf8.ts';
import type { limits } from '../../../protocol/limits.ts';

/** What was recognized, or why nothing was. */
export type Found = { recognized: Recognized } | { refusal: { title: string; message: string } };

const MAX_BYTES: typeof limits.bodyBytes = 2_097_152;

/** Reads a hash, a task id, the address of a proof page, or the text of a document. */
export function readText(text: string): Found {
  const recognized = recognizeText(text.trim());
  if (recognized !== null) return { recognized };
  if (/^\s*[[{]/.test(text)) return readDocument('The text', () => text);
  return refused(
    'Nothing was recognized',
    'Give a hash (64 hex digits), a task id, the address of a proof page, or a receipt, bundle or evidence.',
  );
}

/** Reads a receipt, a bundle or evidence as strictly as `svc verify` does. */
export async function readFile(file: File): Promise<Found> {
  if (file.size > MAX_BYTES) return unreadable(file.name, 'The file is larger than 2 MiB.');
  const bytes = new Uint8Array(await file.arrayBuffer());
  return readDocument(file.name, () => decodeUtf8(bytes));
}

function readDocument(name: string, read: () => string): Found {
  try {
    const text = read();
    if (recognizeText(text.trim())?.kind !== 'proof hash') {
      return { recognized: recognizeDocument(text) };
    }
    return unreadable(
      name,
      'It has only 64 hex digits and may be a private key; nothing was sent.',
    );
  } catch (error) {
    if (error instanceof StrictJsonError) return unreadable(name, `${error.message}.`);
    if (!(error instanceof DocumentError)) throw error;
    const { document, unknownMember, message } = error;
    if (unknownMember !== null) {
      return refused('Not verified', notCovered(unknownMember, name));
    }
    return unreadable(name, `It is not a ${document}: ${message}.`);
  }
}

function unreadable(name: string, message: string): Found {
  return refused(`${name} cannot be checked`, message);
}

function refused(title: string, message: string): Found {
  return { refusal: { title, message } };
}
