import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { batch, changed, forgeries, single } from '../support/forged-bundles.ts';
import { caseOf, honest, published, rounded, verdictOf } from '../support/honest-bundles.ts';

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
