import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesToHex, hexToBytes, uuidToBytes } from '../../src/proof/bytes.ts';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import {
  type ClaimContent,
  hashCanonicalText,
  hashClaim,
  hashProof,
} from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { hex, sha256 } from './reference.ts';

const claim: ClaimContent = {
  created_at: '2026-03-01T08:15:30.125Z',
  description: null,
  expected_result: null,
  occurred_at: null,
  title: 'Inspect aisle 4',
};

const content = {
  proof_hash: hex(sha256('proof')),
  task_id: '0195a1e0-7c00-7000-8000-000000000001',
  robot_id: '0195a1e0-7c00-7000-8000-00000000000a',
  claim_hash: hex(sha256('claim')),
};

describe('hashProof', () => {
  it('is the SHA-256 of the canonical text in UTF-8', () => {
    expect(hashProof({ b: 'größe 😀', a: [1.5] })).toBe(hex(sha256('{"a":[1.5],"b":"größe 😀"}')));
  });

  it('equals the hash of the whole canonical text, which is never in memory', () => {
    const proof = { '\u{1f600}': 'ö'.repeat(70_000), '\ufb33': Array(3000).fill('ü') };
    const told: number[] = [];

    const hash = hashProof(proof, (characters) => told.push(characters));

    const text = canonicalJson(proof);
    expect(hash).toBe(hashCanonicalText(text));
    expect(told.length).toBeGreaterThan(1);
    expect(told.at(-1)).toBe(text.length);
  });
});

describe('hashClaim', () => {
  it('treats an absent value as null', () => {
    const { created_at, title } = claim;

    expect(hashClaim({ created_at, title })).toBe(hashClaim(claim));
  });

  it('ignores other members of a task', () => {
    const task = { ...claim, id: content.task_id, status: 'verified' };

    expect(hashClaim(task)).toBe(hashClaim(claim));
  });

  it.each([
    ['created_at', { created_at: '2026-03-01T08:15:30.126Z' }],
    ['description', { description: '' }],
    ['expected_result', { expected_result: {} }],
    ['occurred_at', { occurred_at: '2026-03-01T08:15:30.125Z' }],
    ['title', { title: 'Inspect aisle 5' }],
  ])('changes with %s', (_, change) => {
    expect(hashClaim({ ...claim, ...change })).not.toBe(hashClaim(claim));
  });
});

describe('leafHash', () => {
  it.each([
    ['proof_hash', { proof_hash: content.claim_hash }],
    ['task_id', { task_id: content.robot_id }],
    ['robot_id', { robot_id: content.task_id }],
    ['claim_hash', { claim_hash: content.proof_hash }],
  ])('changes with %s', (_, change) => {
    expect(leafHash({ ...content, ...change })).not.toBe(leafHash(content));
  });

  it.each([
    ['a short proof hash', { proof_hash: '0x00' }],
    ['a claim hash without prefix', { claim_hash: content.claim_hash.slice(2) }],
    ['a task id in upper case', { task_id: 'ABCDEFAB-7c00-7000-8000-000000000001' }],
    ['a robot id without hyphens', { robot_id: content.robot_id.replaceAll('-', '') }],
  ])('refuses %s', (_, change) => {
    expect(() => leafHash({ ...content, ...change })).toThrow(TypeError);
  });
});

describe('bytes', () => {
  it('are converted to lower-case hex and back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(bytesToHex(bytes)).toBe(hex(bytes));
        expect(hexToBytes(bytesToHex(bytes))).toEqual(bytes);
      }),
    );
  });

  it.each(['', '0', '00', '0x0', '0xg0', '0X00', ' 0x00', '0x00\n', '0x 0'])(
    'are not read from %j',
    (text) => {
      expect(() => hexToBytes(text)).toThrow(TypeError);
    },
  );

  it('of a UUID are its 16 bytes in the order they are written', () => {
    expect(bytesToHex(uuidToBytes('00112233-4455-6677-8899-aabbccddeeff'))).toBe(
      '0x00112233445566778899aabbccddeeff',
    );
  });
});
