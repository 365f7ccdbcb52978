import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { isProven } from '../../src/proof/audit-check.ts';
import { MAX_BUNDLE_DEPTH, readBundle } from '../../src/proof/bundle.ts';
import { BundleError } from '../../src/proof/bundle-error.ts';
import { bytesToHex, type Hex, hexToBytes } from '../../src/proof/bytes.ts';
import { auditChainProof } from '../../src/proof/chain-proof.ts';
import type { JsonValue } from '../../src/proof/json-value.ts';
import { parseStrictJson } from '../../src/proof/strict-json.ts';
import { StrictJsonError } from '../../src/proof/strict-json-error.ts';
import { decodeUtf8 } from '../../src/proof/utf8.ts';
import vectors from '../fixtures/vectors.json' with { type: 'json' };
import { batch, changed, type Forgery, forgeries, single } from '../support/forged-bundles.ts';
import { type ProvenBundle, provenBundle } from '../support/proven-bundle.ts';
import { pythonVerdicts, runPython, type Verdict } from '../support/python-verifier.ts';
import { needsProgram } from '../support/require-program.ts';

type Case = Pick<Forgery, 'content' | 'blockHash'>;

const program = path.resolve(import.meta.dirname, '../../examples/verify.py');

/** The verdict of src/proof. */
function verdictOf({ content, blockHash }: Case): Verdict {
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
    if (error instanceof BundleError || error instanceof StrictJsonError) return null;
    throw error;
  }
}

function caseOf({ bundle, blockHash }: ProvenBundle) {
  return { content: JSON.stringify(bundle), blockHash };
}

const honest = [
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
const rounded = { ...zero, content: zero.content.replace('"picked":0', '"picked":1e-400') };

/** The bundle with each byte of header, transaction and nodes changed, one at a time. */
function changedBytes(): Case[] {
  const { chain_proof, anchor } = batch.bundle;
  const { header, nodes } = chain_proof;
  const parts: [Hex, (forged: Hex) => string][] = [
    [header, (forged) => changed(batch, 'chain_proof.header', forged)],
    [anchor.raw_tx, (forged) => changed(batch, 'anchor.raw_tx', forged)],
    ...nodes.map((node, i): [Hex, (forged: Hex) => string] => [
      node,
      (forged) => changed(batch, 'chain_proof.nodes', nodes.with(i, forged)),
    ]),
  ];
  return parts.flatMap(([part, withForged]) =>
    Array.from(hexToBytes(part), (byte, at) => {
      const bytes = hexToBytes(part);
      bytes[at] = byte ^ (1 + ((at * 37) % 255));
      return { content: withForged(bytesToHex(bytes)), blockHash: batch.blockHash };
    }),
  );
}

const bytes = changedBytes();

/** A bundle for implementations in any language. */
const published = {
  content: readFileSync(new URL('../fixtures/bundle-2.json', import.meta.url)),
  blockHash: '0x92866e84109b537f3828f7e13e8e8fc6422591089c82eb2ec304e6a39dedb825',
} as const;

describe('a bundle of format 2', () => {
  it.each(honest)('of evidence anchored %s is proven by the hash of its block', (_, proven) => {
    expect(verdictOf(caseOf(proven))).toMatchObject({ failed: [] });
  });

  it('stays readable: test/fixtures/bundle-2.json is proven by the hash in docs/anchoring.md', async () => {
    const page = await readFile(new URL('../../docs/anchoring.md', import.meta.url), 'utf8');

    expect(verdictOf(published)).toMatchObject({ failed: [] });
    expect(page).toContain(`test/fixtures/bundle-2.json ${published.blockHash}`);
  });

  it('is checked from the block down to the evidence', () => {
    const common =
      'header block_hash block_number anchored_at transaction_path transaction_found raw_tx signature chain sender self_transfer payload'.split(
        ' ',
      );

    expect(verdictOf(caseOf(single))?.names).toEqual([...common, 'proof_hash', 'leaf', 'evidence']);
    expect(verdictOf(caseOf(batch))?.names).toEqual([
      ...common,
      ...['leaf_count', 'root', 'inclusion_path', 'evidence'],
    ]);
  });

  it('is proven without the evidence, which is then in no check', () => {
    const verdict = verdictOf({ ...single, content: changed(single, 'proof', undefined) });

    expect(verdict?.failed).toEqual([]);
    expect(verdict?.names).not.toContain('evidence');
  });

  it('is proven with a number that becomes 0, if the reader allows it', () => {
    expect(rounded.content).toContain('1e-400');
    expect(verdictOf(rounded)?.failed).toEqual([]);
  });

  it('is proven by a hash in upper case', () => {
    const { content, blockHash } = caseOf(single);

    expect(
      verdictOf({ content, blockHash: `0x${blockHash.slice(2).toUpperCase()}` })?.failed,
    ).toEqual([]);
  });

  it('fails without its chain proof, as one of format 1, in every check of the block', () => {
    const { chain_proof: _, ...rest } = single.bundle;
    const content = JSON.stringify({ ...rest, format: 'svc-bundle/1' });

    expect(verdictOf({ ...single, content })?.failed).toEqual([
      ...['header', 'block_number', 'anchored_at', 'transaction_path', 'transaction_found'],
    ]);
  });

  const file = Buffer.from(JSON.stringify(batch.bundle));

  function expectFailures(step: number) {
    for (const [i, forged] of bytes.entries()) {
      if (i % step > 0) continue;
      expect(verdictOf(forged)?.failed, String(forged.content)).not.toEqual([]);
    }
    const name = file.indexOf('arm-1');
    for (const at of file.keys()) {
      if (at % step > 0 || (at >= name && at < name + 'arm-1'.length)) continue;
      const content = Buffer.from(file);
      content[at] = (content[at] ?? 0) ^ 1;
      expect(verdictOf({ ...batch, content })?.failed, `byte ${at}`).not.toEqual([]);
    }
  }

  it('fails with a byte of header, path, transaction or file changed', () => expectFailures(17));

  it('fails with any byte changed, but for the name of the robot', { tags: ['full'] }, () =>
    expectFailures(1),
  );
});

describe('a forged bundle of format 2', () => {
  it.each(forgeries)('is not proven with $name', (forgery) => {
    expect(verdictOf(forgery)?.failed ?? null).toEqual(forgery.failed);
  });

  it('comes in at least 60 kinds, each named once', () => {
    const names = forgeries.map(({ name }) => name);

    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(60);
  });
});

describe('examples/verify.py', () => {
  it('agrees with auditChainProof on every bundle', (context) => {
    const cases = [...honest.map(([, proven]) => caseOf(proven)), rounded, published];

    expect(pythonVerdicts(context, cases)).toEqual(cases.map(verdictOf));
  });

  it('agrees with auditChainProof on every forgery', (context) => {
    const named = (verdicts: Verdict[]) =>
      forgeries.map(({ name }, i) => [name, verdicts[i]?.failed ?? null]);

    expect(named(pythonVerdicts(context, forgeries))).toEqual(named(forgeries.map(verdictOf)));
  });

  it('agrees with auditChainProof on changed bytes', (context) => {
    const cases = bytes.filter((_, i) => i % 31 === 0);

    expect(pythonVerdicts(context, cases)).toEqual(cases.map(verdictOf));
  });

  it('agrees with auditChainProof on every changed byte', { tags: ['full'] }, (context) => {
    expect(pythonVerdicts(context, bytes)).toEqual(bytes.map(verdictOf));
  });

  it('hashes evidence and refuses JSON as the test vectors say', (context) => {
    const code = `
def canonical(text):
    try:
        return verify.canonical(verify.parse_strict(text))
    except verify.Refused:
        return None

verify.MAX_DEPTH = 128
print(json.dumps([canonical(text) for text in json.load(sys.stdin)]))
`;
    const { proofs, refused } = vectors;
    const texts = [...proofs, ...refused].map(({ text }) => text);

    expect(runPython(context, code, texts)).toEqual([
      ...proofs.map(({ canonical }) => canonical),
      ...refused.map(() => null),
    ]);
  });

  it('exits 0 if every check passed, 3 if not, and 2 if it cannot tell', (context) => {
    const python = needsProgram(context, 'python3');
    const folder = mkdtempSync(path.join(tmpdir(), 'verify-'));
    const run = (content: string, ...hashes: string[]) => {
      const file = path.join(folder, 'bundle.json');
      writeFileSync(file, content);
      const { status, stdout } = spawnSync(python, ['-B', program, file, ...hashes]);
      return [status, String(stdout).split('\n').at(-2) ?? ''];
    };
    const { chain_proof: _, ...rest } = single.bundle;
    const content = JSON.stringify(single.bundle);

    expect(run(content, single.blockHash)).toEqual([
      0,
      expect.stringContaining('Compare the sender'),
    ]);
    expect(run(content, batch.blockHash)).toEqual([3, 'Not verified']);
    expect(run(changed(single, 'note', 'Certified'), single.blockHash)).toEqual([
      3,
      "Not verified: 'note' is not a member of a bundle",
    ]);
    expect(run('{}', single.blockHash)).toEqual([2, '']);
    expect(run(JSON.stringify({ ...rest, format: 'svc-bundle/1' }), single.blockHash)).toEqual([
      2,
      '',
    ]);
    expect(run(content)).toEqual([2, '']);
    expect(run(content, 'latest')).toEqual([2, '']);
    rmSync(folder, { recursive: true });
  });
});
