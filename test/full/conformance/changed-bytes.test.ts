import { describe, expect, it } from 'vitest';
import { bytesToHex, type Hex, hexToBytes } from '../../../src/proof/bytes.ts';
import { batch, changed } from '../../support/forged-bundles.ts';
import { type BundleCase, verdictOf } from '../../support/honest-bundles.ts';
import { pythonVerdicts } from '../../support/python-verifier.ts';

/** The bundle with each byte of header, transaction and nodes changed, one at a time. */
function changedBytes(): BundleCase[] {
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

describe('a bundle of format 2', () => {
  it('fails with a byte of header, path, transaction or file changed', () => expectFailures(17));

  it('fails with any byte changed, except in the name of the robot', () => expectFailures(1));

  it('has the same verdict of examples/verify.py with a byte changed', (context) => {
    const cases = bytes.filter((_, i) => i % 31 === 0);

    expect(pythonVerdicts(context, cases)).toEqual(cases.map(verdictOf));
  });

  // Python takes a minute for it, and more where other tests run.
  it('has the same verdict of examples/verify.py with any byte changed', {
    timeout: 600_000,
  }, (context) => {
    expect(pythonVerdicts(context, bytes)).toEqual(bytes.map(verdictOf));
  });
});
