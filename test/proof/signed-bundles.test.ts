import { describe, expect, it } from 'vitest';
import { readBundle } from '../../src/proof/bundle.ts';
import { DocumentError } from '../../src/proof/document-error.ts';
import type { JsonValue } from '../../src/proof/json-value.ts';
import { auditSigning } from '../../src/proof/statements/audit-signing.ts';
import { readReceipt } from '../../src/proof/subject/receipt.ts';
import { signedBy } from '../../src/proof/subject/verdict.ts';
import vectors from '../fixtures/signed-bundles.json' with { type: 'json' };
import { signedBundles as made } from '../support/signed-bundle-vectors.ts';
import { documentOf, signedVerdict } from '../support/signed-verdict.ts';

const bundleOf = (name: string) =>
  readBundle(documentOf(vectors.good.find((each) => each.name === name) ?? { changes: [] }));

it('has the vectors that the generator makes', () => {
  expect(vectors).toEqual(JSON.parse(JSON.stringify(made)));
});

describe('a signed bundle', () => {
  it.each(vectors.good)('is verified: $name', async (vector) => {
    expect(await signedVerdict(vector)).toMatchObject({ failed: [], wallet: vector.wallet });
  });

  it.each(vectors.bad)('is not verified: $name', async (vector) => {
    expect((await signedVerdict(vector))?.failed ?? null).toEqual(vector.failed);
  });

  it('comes in at least 6 good and 25 bad kinds, each named once', () => {
    const names = [...vectors.good, ...vectors.bad].map(({ name }) => name);

    expect(new Set(names).size).toBe(names.length);
    expect(vectors.good.length).toBeGreaterThanOrEqual(6);
    expect(vectors.bad.length).toBeGreaterThanOrEqual(25);
  });

  it('names the member that is malformed or unknown', () => {
    const read = (name: string) => () =>
      readBundle(documentOf(vectors.bad.find((each) => each.name === name) ?? { changes: [] }));

    expect(read('a text with a line feed')).toThrow('signing.key.text: the text is not one that');
    expect(read('an unknown member of a free anchor')).toThrow(
      expect.objectContaining({ unknownMember: '/signing/claim/anchor/note' }),
    );
  });
});

describe('the report', () => {
  it('says who signed, and what the robot stated', async () => {
    const report = await auditSigning(bundleOf('a result that failed, by ES256, anchored alone'));

    expect(report).toMatchObject({
      wallet_check: 'signed',
      pinned: false,
      outcome: 'failed',
      numbers: { claim: 1, result: 2 },
    });
    expect(report && signedBy(report)).toEqual([
      `Signed by key ${report?.key} of robot ${report?.robot_id}, outcome failed.`,
      `The wallet ${report?.wallet} put this key into use.`,
      'Not pinned: only this file states whose key it is.',
    ]);
  });

  it('asks a smart-contract wallet, if the caller can', async () => {
    const bundle = bundleOf('a smart-contract wallet');
    const { wallet } = (await auditSigning(bundle)) ?? {};
    const ask = (accepts: boolean) =>
      auditSigning(bundle, { owner: wallet, askWallet: async () => accepts });
    const failed = async (accepts: boolean) =>
      (await ask(accepts))?.checks.filter(({ ok }) => !ok).map(({ name }) => name);

    expect(await failed(true)).toEqual([]);
    expect(await failed(false)).toEqual(['wallet_signature', 'owner']);
  });

  it('fails the anchors that the caller refutes', async () => {
    const auditLeaf = async () => [{ name: 'canonical_block', ok: false }];
    const report = await auditSigning(bundleOf('a key revoked in a later block'), { auditLeaf });

    expect(report?.checks.filter(({ ok }) => !ok)).toEqual(
      ['key_anchor', 'claim_anchor', 'revocation_anchor'].map((name) => ({
        name,
        ok: false,
        detail: 'Its anchor fails these checks: canonical_block',
      })),
    );
  });

  it('does not exist for a bundle without signatures', async () => {
    const { signing: _, ...unsigned } = bundleOf('a result that succeeded');

    expect(await auditSigning({ ...unsigned, format: 'svc-bundle/2' })).toBeNull();
  });
});

describe('a receipt of signed work', () => {
  const hash = `0x${'12'.repeat(32)}`;
  const receipt = (members: Record<string, JsonValue>) => ({
    format: 'svc-receipt/2',
    status: 'verified',
    chain_id: 1,
    proof_hash: hash,
    task_id: '01900000-0000-7000-8000-000000000001',
    robot_id: '01900000-0000-7000-8000-00000000000a',
    claim_hash: hash,
    statement_hash: hash,
    inclusion: null,
    tx_hash: hash,
    block_number: '5',
    anchored_at: '2026-01-01T00:00:00.000Z',
    explorer_url: '',
    finality: 'finalized',
    ...members,
  });
  const without = (name: string) =>
    Object.fromEntries(Object.entries(receipt({})).filter(([each]) => each !== name));

  it('states the hash of the statement, which is part of the leaf', () => {
    expect(readReceipt(receipt({})).stated).toMatchObject({ statement_hash: hash });
  });

  it.each([
    ['the hash of a statement in format 1', receipt({ format: 'svc-receipt/1' })],
    ['the hash of a statement without a format', without('format')],
    ['no hash of a statement', without('statement_hash')],
    ['null in place of the hash', receipt({ statement_hash: null })],
    ['format 3', receipt({ format: 'svc-receipt/3' })],
  ])('is refused with %s', (_, document) => {
    expect(() => readReceipt(document as JsonValue)).toThrow(DocumentError);
  });
});
