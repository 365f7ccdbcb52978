import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import type { ChainFacts } from '../../src/proof/audit-anchor.ts';
import { auditBundle, auditBundleAlone } from '../../src/proof/audit-bundle.ts';
import { isProven } from '../../src/proof/audit-check.ts';
import {
  type Bundle,
  MAX_BUNDLE_DEPTH,
  readBundle,
  saysItIsBundle,
} from '../../src/proof/bundle.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { DocumentError } from '../../src/proof/document-error.ts';
import { hashProof } from '../../src/proof/hash.ts';
import type { JsonValue } from '../../src/proof/json-value.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { parseStrictJson } from '../../src/proof/strict-json.ts';
import { workOf } from '../support/proven-bundle.ts';
import { hex, sha256 } from './reference.ts';

const account: Hex = `0x${'a1'.repeat(20)}`;
const other = {
  hash: hex(sha256('other')),
  id: '0195a1e0-7c00-7000-8000-0000000000ff',
  time: '2020-01-01T00:00:00.000Z',
};

/** A bundle and the facts that bear it out, for the first of `count` proofs anchored together. */
function anchored(count: number): { bundle: Bundle; facts: ChainFacts } {
  const proof = { picked: 12, spoken: 'Grüße' };
  const { claim, task, proof_hash, payload, inclusions } = workOf(proof, count);
  const rawTx: Hex = `0x02${encodePayload(payload).slice(2)}5a`;
  const tx_hash = hex(keccak_256(Buffer.from(rawTx.slice(2), 'hex')));
  const block_hash = hex(sha256('block'));
  const timestamp = '2026-03-01T08:15:30.000Z';
  return {
    bundle: {
      format: 'svc-bundle/1',
      chain_id: 31337,
      task,
      claim,
      proof,
      proof_hash,
      inclusion: inclusions[0] ?? null,
      anchor: {
        tx_hash,
        block_number: '42',
        block_hash,
        tx_index: 3,
        from: account,
        anchored_at: timestamp,
        raw_tx: rawTx,
      },
    },
    facts: {
      chain_id: 31337,
      tx: { hash: tx_hash, from: account, to: account, value: '0', input: encodePayload(payload) },
      receipt: { status: 'success', block_number: '42', block_hash, tx_index: 3 },
      canonical_block: { hash: block_hash, number: '42', timestamp },
    },
  };
}

/** As it would come out of a file. */
function documentOf(bundle: Bundle): Record<string, JsonValue> {
  return JSON.parse(JSON.stringify(bundle));
}

/** The document with the member at a dotted path replaced; undefined removes it. */
function changed(bundle: Bundle, path: string, value: JsonValue | undefined): JsonValue {
  const document = documentOf(bundle);
  const names = path.split('.');
  const last = names.pop() ?? '';
  let object = document;
  for (const name of names) object = object[name] as Record<string, JsonValue>;
  if (value === undefined) delete object[last];
  else object[last] = value;
  return document;
}

/** The message of the refusal. */
function refusal(document: JsonValue): string {
  try {
    readBundle(document);
  } catch (error) {
    if (error instanceof DocumentError) return error.message;
    throw error;
  }
  throw new Error('accepted');
}

const single = anchored(1);
const batch = anchored(5);

function failures(document: JsonValue, facts: ChainFacts): string[] {
  const checks = auditBundle(readBundle(document), facts);
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  expect(isProven(checks)).toBe(failed.length === 0);
  return failed;
}

describe('an honest bundle', () => {
  it.each([
    ['alone', single],
    ['in a batch', batch],
  ])('of a proof anchored %s is read completely and passes every check', (_, { bundle, facts }) => {
    expect(readBundle(documentOf(bundle))).toEqual(bundle);
    expect(failures(documentOf(bundle), facts)).toEqual([]);
  });

  it('is checked for evidence and signed transaction first, then as an anchor', () => {
    const names = auditBundle(single.bundle, single.facts).map(({ name }) => name);

    expect(names).toEqual([
      'evidence',
      'raw_tx',
      'chain',
      'transaction_found',
      'status',
      'canonical_block',
      'self_transfer',
      'sender',
      'payload',
      'proof_hash',
      'leaf',
      'block_number',
      'block_hash',
      'tx_index',
      'anchored_at',
    ]);
  });

  it('passes without the evidence, which then is in no check', () => {
    const document = changed(single.bundle, 'proof', undefined);

    const names = auditBundle(readBundle(document), single.facts).map(({ name }) => name);

    expect(failures(document, single.facts)).toEqual([]);
    expect(names).not.toContain('evidence');
  });

  it('is parsed with evidence and expectation of the maximum depth', () => {
    const deep = (levels: number): string =>
      `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
    const text = JSON.stringify({ proof: 0, claim: { expected_result: 0 } }).replaceAll(
      '0',
      deep(128),
    );

    expect(() => parseStrictJson(text, { maxDepth: MAX_BUNDLE_DEPTH })).not.toThrow();
    expect(() => parseStrictJson(`[${text}]`, { maxDepth: MAX_BUNDLE_DEPTH })).toThrow();
  });

  it('has no member unknown to the format, because no check would cover it', () => {
    const document = changed(single.bundle, 'anchor.note', 'later');

    expect(() => readBundle(document)).toThrow(
      expect.objectContaining({ name: 'DocumentError', unknownMember: '/anchor/note' }),
    );
  });

  it('passes with any robot name, because the name is stated, not proven', () => {
    const document = changed(single.bundle, 'task.robot_name', 'another');

    expect(failures(document, single.facts)).toEqual([]);
  });
});

describe('a forged bundle fails in its own check', () => {
  const forgeries: [string, JsonValue, string, string][] = [
    ['task.id', other.id, 'leaf', 'inclusion_path'],
    ['task.robot_id', other.id, 'leaf', 'inclusion_path'],
    ['claim.title', 'Sort nothing', 'leaf', 'inclusion_path'],
    ['claim.description', null, 'leaf', 'inclusion_path'],
    ['claim.expected_result', { parcels: 1 }, 'leaf', 'inclusion_path'],
    ['claim.occurred_at', null, 'leaf', 'inclusion_path'],
    ['claim.created_at', other.time, 'leaf', 'inclusion_path'],
    ['proof', { picked: 13 }, 'evidence', 'evidence'],
    ['chain_id', 1, 'chain', 'chain'],
    ['anchor.block_number', '43', 'block_number', 'block_number'],
    ['anchor.block_hash', other.hash, 'block_hash', 'block_hash'],
    ['anchor.tx_index', 4, 'tx_index', 'tx_index'],
    ['anchor.from', `0x${'b2'.repeat(20)}`, 'sender', 'sender'],
    ['anchor.anchored_at', other.time, 'anchored_at', 'anchored_at'],
    ['anchor.raw_tx', `0x02${'5b'.repeat(90)}`, 'raw_tx', 'raw_tx'],
  ];

  it.each(forgeries)('with another %s', (path, value, ofSingle, ofBatch) => {
    expect(failures(changed(single.bundle, path, value), single.facts)).toEqual([ofSingle]);
    expect(failures(changed(batch.bundle, path, value), batch.facts)).toEqual([ofBatch]);
  });

  it('with another proof hash, even with matching evidence', () => {
    const proof = { picked: 13 };
    const hash = hashProof(proof);
    const bare = changed(single.bundle, 'proof_hash', hash);
    const whole = changed({ ...single.bundle, proof }, 'proof_hash', hash);

    expect(failures(bare, single.facts)).toEqual(['evidence', 'proof_hash', 'leaf']);
    expect(failures(whole, single.facts)).toEqual(['proof_hash', 'leaf']);
  });

  it('with another transaction hash', () => {
    const document = changed(single.bundle, 'anchor.tx_hash', other.hash);

    expect(failures(document, single.facts)).toEqual(['raw_tx', 'transaction_found']);
  });

  it.each<[string, JsonValue, string[]]>([
    ['inclusion.root', other.hash, ['root']],
    ['inclusion.leaf_index', 1, ['inclusion_path']],
    ['inclusion.leaf_count', 6, ['leaf_count']],
    ['inclusion.path', [], ['inclusion_path']],
    ['inclusion', null, ['payload', 'proof_hash', 'leaf']],
  ])('of a batch with another %s', (path, value, failed) => {
    expect(failures(changed(batch.bundle, path, value), batch.facts)).toEqual(failed);
  });
});

describe('a bundle without a chain', () => {
  const failed = (document: JsonValue) =>
    auditBundleAlone(readBundle(document))
      .filter(({ ok }) => !ok)
      .map(({ name }) => name);

  it('passes if its parts lead to the payload of the transaction', () => {
    expect([single, batch].map(({ bundle }) => failed(documentOf(bundle)))).toEqual([[], []]);
  });

  it.each<[string, JsonValue, string[], string[]]>([
    ['claim.title', 'Sort nothing', ['payload'], ['inclusion_path']],
    ['task.id', other.id, ['payload'], ['inclusion_path']],
    ['proof', { picked: 13 }, ['evidence'], ['evidence']],
    ['anchor.tx_hash', other.hash, ['raw_tx'], ['raw_tx']],
  ])('fails with another %s', (path, value, alone, batched) => {
    expect(failed(changed(single.bundle, path, value))).toEqual(alone);
    expect(failed(changed(batch.bundle, path, value))).toEqual(batched);
  });

  it('fails with more leaves than a payload can count', () => {
    expect(failed(changed(batch.bundle, 'inclusion.leaf_count', 2 ** 33))).toContain('payload');
  });
});

describe('reading a bundle', () => {
  const { bundle } = batch;

  it.each([
    ['svc-bundle/4', ', not "svc-bundle/4"'],
    ['svc-bundle/1 ', ', not "svc-bundle/1 "'],
    [1, ''],
    [undefined, ''],
  ])('refuses format %j', (format, found) => {
    const formats = 'format must be "svc-bundle/1", "svc-bundle/2" or "svc-bundle/3"';

    expect(refusal(changed(bundle, 'format', format))).toBe(`${formats}${found}`);
  });

  it('reads format 2 only with a chain proof, and format 1 only without', () => {
    const chain_proof = { header: '0xc0', nodes: ['0xc0'] } as const;
    const proven = { ...bundle, format: 'svc-bundle/2', chain_proof } as const;

    expect(readBundle(documentOf(proven))).toEqual(proven);
    expect(refusal(changed(proven, 'chain_proof', undefined))).toBe(
      'chain_proof must be a JSON object',
    );
    expect(() => readBundle(changed(proven, 'format', 'svc-bundle/1'))).toThrow(
      expect.objectContaining({ name: 'DocumentError', unknownMember: '/chain_proof' }),
    );
  });

  const members = [
    'chain_id',
    'task',
    'task.id',
    'task.robot_id',
    'task.robot_name',
    'claim',
    'claim.created_at',
    'claim.description',
    'claim.expected_result',
    'claim.occurred_at',
    'claim.title',
    'proof_hash',
    'inclusion',
    'inclusion.root',
    'inclusion.leaf_index',
    'inclusion.leaf_count',
    'inclusion.path',
    'anchor',
    'anchor.tx_hash',
    'anchor.block_number',
    'anchor.block_hash',
    'anchor.tx_index',
    'anchor.from',
    'anchor.anchored_at',
    'anchor.raw_tx',
  ];

  it.each(members)('refuses one without %s, or with a boolean there, naming it', (path) => {
    for (const value of [undefined, true]) {
      expect(refusal(changed(bundle, path, value))).toMatch(
        new RegExp(`^${path.replace('.', '\\.')} must be `),
      );
    }
  });

  it.each<[string, JsonValue]>([
    ['proof', 'text'],
    ['proof', null],
    ['chain_id', 0],
    ['chain_id', 1.5],
    ['task.id', other.id.toUpperCase()],
    ['proof_hash', `0x${'AB'.repeat(32)}`],
    ['proof_hash', 'ab'.repeat(32)],
    ['inclusion.leaf_count', 1],
    ['inclusion.path', ['0x12']],
    ['claim.expected_result', []],
    ['claim.created_at', '2026-03-01T08:00:00Z'],
    ['anchor.block_number', '042'],
    ['anchor.block_number', 42],
    ['anchor.raw_tx', '0x'],
    ['anchor.raw_tx', '0x123'],
  ])('refuses %s of %j', (path, value) => {
    expect(refusal(changed(bundle, path, value))).toContain('must be');
  });

  it.each<[JsonValue]>([[null], [[]], ['text'], [7]])('refuses %j', (document) => {
    expect(refusal(document)).toContain('must be');
  });

  it('reads members only from the document, not from its prototype', () => {
    const document = Object.create(documentOf(bundle));

    expect(refusal(document)).toContain('must be');
  });

  it('distinguishes a bundle of any version from other documents', () => {
    expect([{ format: 'svc-bundle/1' }, { format: 'svc-bundle/9' }].map(saysItIsBundle)).toEqual([
      true,
      true,
    ]);
    expect([{}, null, [], { format: 1 }, { format: 'other' }].map(saysItIsBundle)).toEqual(
      Array(5).fill(false),
    );
  });
});
