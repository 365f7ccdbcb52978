// Reads what `svc verify` is given: a proof hash, a receipt or a bundle.
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import { statedAnchorOf } from '../../proof/audit-bundle.ts';
import { type Bundle, MAX_BUNDLE_DEPTH, readBundle, saysItIsBundle } from '../../proof/bundle.ts';
import { BundleError } from '../../proof/bundle-error.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { pointerStep } from '../../proof/strict-json-error.ts';
import { Nullable } from '../../protocol/fields.ts';
import { Inclusion, Verification } from '../../protocol/resources.ts';
import { nameOf, parseJson, readText } from '../input/files.ts';

/** What `svc verify` checks. For a hash, only the service knows the rest. */
export interface Subject {
  proofHash: string;
  /** The document's statement about the anchor; null for a hash. */
  stated: StatedAnchor | null;
  /** Null if the document is not a bundle. */
  bundle: Bundle | null;
}

const HASH = /^0x[0-9a-fA-F]{64}$/;

/** Unknown members are refused by name. */
const Receipt = Type.Object({
  ...Verification.properties,
  inclusion: Nullable(Type.Object(Inclusion.properties)),
});

/** Reads a hash, a file with a receipt or a bundle, or any of them from standard input (`-`). */
export async function readSubject(argument: string): Promise<Subject> {
  if (HASH.test(argument)) return subjectOfHash(argument);
  if (/^0x[0-9a-fA-F]*$/.test(argument)) {
    throw new SvcError('usage', `${argument} is not a proof hash: 0x and 64 hex digits.`);
  }
  const text = await readText(argument);
  const name = nameOf(argument);
  if (HASH.test(text.trim())) {
    if (argument !== '-') throw mayBeKey(name);
    return subjectOfHash(text.trim());
  }
  const json = parseJson(argument, text, { maxDepth: MAX_BUNDLE_DEPTH });
  if (saysItIsBundle(json)) {
    const bundle = bundleOf(name, json);
    return { proofHash: bundle.proof_hash, stated: statedAnchorOf(bundle), bundle };
  }
  const stated = statedByReceipt(name, json);
  return { proofHash: stated.proof_hash, stated, bundle: null };
}

/** A private key looks like a proof hash, and verifying it would send it to the service. */
function mayBeKey(name: string): SvcError {
  return new SvcError(
    'usage',
    `${name} contains only 64 hex digits and may be a private key; nothing was sent.`,
    {
      hint: 'Give the proof hash itself (svc verify 0x…), or pipe it to svc verify -',
    },
  );
}

function subjectOfHash(text: string): Subject {
  return { proofHash: text.toLowerCase(), stated: null, bundle: null };
}

function statedByReceipt(name: string, document: JsonValue): StatedAnchor {
  const receipt = receiptIn(name, document);
  if (!Value.Check(Receipt, receipt)) {
    const first = Value.Errors(Receipt, receipt)[0];
    throw new SvcError(
      'invalid_document',
      `${name} is not a verification receipt: ${first?.instancePath || 'it'} ${first?.message}.`,
      {
        hint:
          'Give a proof hash, a bundle, or the answer of the service to the completion.\n' +
          'To verify evidence, run: svc hash FILE | svc verify -',
      },
    );
  }
  requireNoOther(name, receipt, Verification.properties, '');
  if (receipt.inclusion !== null) {
    requireNoOther(name, receipt.inclusion, Inclusion.properties, '/inclusion');
  }
  const { chain_id, proof_hash, task_id, robot_id, claim_hash, inclusion } = receipt;
  const { tx_hash, block_number, anchored_at } = receipt;
  return {
    chain_id,
    proof_hash,
    task_id,
    robot_id,
    claim_hash,
    inclusion,
    tx_hash,
    block_number,
    anchored_at,
  };
}

/** The answer to a completion holds the receipt under `verification`, and nothing else. */
function receiptIn(name: string, document: JsonValue): unknown {
  if (typeof document !== 'object' || document === null || !('verification' in document)) {
    return document;
  }
  requireNoOther(name, document, { verification: true }, '');
  return document.verification;
}

/** Refuses a member that no check covers. `place` is the JSON Pointer to `object`. */
function requireNoOther(name: string, object: object, known: object, place: string): void {
  const other = Object.keys(object).find((member) => !Object.hasOwn(known, member));
  if (other === undefined) return;
  throw unknownMember(name, place + pointerStep(other));
}

function unknownMember(name: string, pointer: string): SvcError {
  return new SvcError('unknown_member', `NOT verified: no check covers ${pointer} in ${name}.`, {
    hint: 'Verify the receipt or bundle alone, as the service wrote it. To check evidence, use --proof FILE.',
  });
}

function bundleOf(name: string, document: JsonValue): Bundle {
  try {
    return readBundle(document);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    if (error.unknownMember !== null) throw unknownMember(name, error.unknownMember);
    throw new SvcError('invalid_document', `${name} is not a bundle: ${error.message}.`, {
      hint: 'If the format is newer than svc, update svc.',
    });
  }
}
