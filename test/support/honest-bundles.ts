import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { isProven } from '../../src/proof/audit-check.ts';
import { MAX_BUNDLE_DEPTH, readBundle } from '../../src/proof/bundle.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { auditChainProof } from '../../src/proof/chain-proof.ts';
import { DocumentError } from '../../src/proof/document-error.ts';
import type { JsonValue } from '../../src/proof/json-value.ts';
import { parseStrictJson } from '../../src/proof/strict-json.ts';
import { StrictJsonError } from '../../src/proof/strict-json-error.ts';
import { decodeUtf8 } from '../../src/proof/utf8.ts';
import { batch, type Forgery, single } from './forged-bundles.ts';
import { type ProvenBundle, provenBundle } from './proven-bundle.ts';
import type { Verdict } from './python-verifier.ts';

/** The content of a bundle file, and the hash of its block. */
export type BundleCase = Pick<Forgery, 'content' | 'blockHash'>;

/** The verdict of src/proof. */
export function verdictOf({ content, blockHash }: BundleCase): Verdict {
  try {
    const text = decodeUtf8(Buffer.from(content));
    const bundle = readBundle(
      parseStrictJson(text, { maxDepth: MAX_BUNDLE_DEPTH, onUnderflow: () => {} }),
    );
    const checks = auditChainProof(bundle, blockHash);
    const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
    expect(isProven(checks)).toBe(failed.length === 0);
    return { names: checks.map(({ name }) => name), failed };
  } catch (error) {
    if (error instanceof DocumentError || error instanceof StrictJsonError) return null;
    throw error;
  }
}

export function caseOf({ bundle, blockHash }: ProvenBundle) {
  return { content: JSON.stringify(bundle), blockHash };
}

/** Bundles that hold. */
export const honest = [
  ['alone', single],
  ['in a batch', batch],
  ['alone in its block', provenBundle({ others: 0 })],
  ['in a block of 300 transactions', provenBundle({ others: 300 })],
  ['by a legacy transaction', provenBundle({ transaction: legacy() })],
  ['by a transaction of type 1', provenBundle({ transaction: { ...legacy(), type: 'eip2930' } })],
  ['with an access list', provenBundle({ transaction: { accessList: accessList() } })],
  ['as an empty list', provenBundle({ evidence: [] })],
  ['with numbers of every form', provenBundle({ evidence: numbers() })],
  [
    'with names that UTF-16 sorts otherwise',
    provenBundle({ evidence: { '\u{1f600}': 1, '\ufb33': 2, ü: '\u007f\u0001"\\/' } }),
  ],
] as const;

function legacy() {
  const without = { maxFeePerGas: undefined, maxPriorityFeePerGas: undefined };
  return { type: 'legacy', gasPrice: 9n, ...without } as const;
}

function accessList() {
  const address: Hex = `0x${'ac'.repeat(20)}`;
  return [{ address, storageKeys: [`0x${'05'.repeat(32)}` as Hex] }];
}

function numbers(): JsonValue[] {
  const texts =
    '0 -0 1 -1 0.1 1e21 1e20 123456789012345680000 1e-6 1e-7 5e-324 2.5e-10 1.7976931348623157e308';
  return texts.split(' ').map(Number);
}

/** Evidence from before the service refused numbers that become 0. */
const zero = caseOf(provenBundle({ evidence: { picked: 0 } }));
export const rounded = { ...zero, content: zero.content.replace('"picked":0', '"picked":1e-400') };

/** A bundle for implementations in any language. */
export const published = {
  content: readFileSync(new URL('../fixtures/bundle-2.json', import.meta.url)),
  blockHash: '0x92866e84109b537f3828f7e13e8e8fc6422591089c82eb2ec304e6a39dedb825',
} as const;
