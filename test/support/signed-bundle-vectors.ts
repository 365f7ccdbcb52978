// Makes the bundles of signed work for verifiers in any language, good and forged: `node --import
// ./test/support/typescript.js test/support/signed-bundle-vectors.ts > test/fixtures/signed-bundles.json`, then `npm run
// format`. Each run makes the same ones.
import { p256 } from '@noble/curves/nist.js';
import { bytesToHex, type Hex } from '../../src/proof/bytes.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { kidOf } from '../../src/proof/statements/key-text.ts';
import {
  all,
  boardKey,
  evidence,
  freeAnchor,
  hashOf,
  type Members,
  type Options,
  OTHER,
  otherKey,
  owner,
  ownerAccount,
  part,
  robotKey,
  set,
  signedBundle,
  strangerAccount,
} from './signed-bundles.ts';

const flipped = (hex: string) =>
  `${hex.slice(0, 10)}${hex[10] === '0' ? '1' : '0'}${hex.slice(11)}`;
const ORDER_SECP = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const highSOfWallet = (hex: string) => {
  const s = (ORDER_SECP - BigInt(`0x${hex.slice(66, 130)}`)).toString(16).padStart(64, '0');
  return `${hex.slice(0, 66)}${s}${hex.endsWith('1b') ? '1c' : '1b'}`;
};
const highSOfBoard = (text: string) => {
  const [head, payload, signature = ''] = text.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const s = p256.CURVE.n - BigInt(bytesToHex(bytes.subarray(32)));
  const high = Buffer.concat([
    bytes.subarray(0, 32),
    Buffer.from(s.toString(16).padStart(64, '0'), 'hex'),
  ]);
  return `${head}.${payload}.${high.toString('base64url')}`;
};
const contractSignature = set('signing.key.signature', `0x${'c0'.repeat(96)}`);
const withoutFreeChainProofs = all(
  set('signing.key.anchor.chain_proof', undefined),
  set('signing.claim.anchor.chain_proof', undefined),
);
const lastIs = (number: number) => (_: string, hash: Hex) => ({ last: { number, hash } });
const pinned = { owner: ownerAccount.address, robot_key: robotKey.thumbprint };

const good: [name: string, wallet: 'signed' | 'not_checked', options: Options][] = [
  ['a result that succeeded', 'signed', {}],
  ['the expected owner and key', 'signed', { pins: pinned }],
  [
    'a result that failed, by ES256, anchored alone',
    'signed',
    { signer: boardKey, alone: true, result: { outcome: 'failed' } },
  ],
  [
    'a result that was aborted, with later numbers',
    'signed',
    {
      grant: { first_number: 3, predecessor: kidOf('another text') },
      claim: { number: 5, prev: hashOf('4') },
      result: { number: 9, prev: hashOf('8'), outcome: 'aborted' },
    },
  ],
  [
    'no evidence, and neither key nor claim anchored',
    'signed',
    {
      changes: all(
        set('proof', undefined),
        set('signing.key.anchor', null),
        set('signing.claim.anchor', null),
      ),
    },
  ],
  ['a task claimed before the robot had a key', 'signed', { changes: set('signing.claim', null) }],
  ['free anchors without chain proofs', 'signed', { changes: withoutFreeChainProofs }],
  ['a key revoked after this number', 'signed', { revocation: lastIs(2), revokedAt: 2n }],
  ['a key revoked after a later number', 'signed', { revocation: lastIs(40), revokedAt: 0n }],
  ['a key revoked in a later block', 'signed', { revocation: () => ({}), revokedAt: 6n }],
  ['a smart-contract wallet', 'not_checked', { changes: contractSignature }],
  [
    'a smart-contract wallet that approved on the chain, and the expected key',
    'not_checked',
    {
      changes: set('signing.key.signature', '0x'),
      pins: { robot_key: robotKey.thumbprint },
    },
  ],
];

const otherBundle = await signedBundle({ result: { outcome: 'failed' } });
const failedResult = (otherBundle.signing as { result: { statement: string } }).result.statement;

type Bad = [name: string, failed: string[] | null, options: Options];

const statements: Bad[] = [
  ['a claim signed by another key', ['claim_signature'], { claimSigner: otherKey }],
  ['a result signed by another key', ['result_signature'], { resultSigner: otherKey }],
  [
    'a result with a high s by ES256',
    ['result_signature'],
    { signer: boardKey, resultText: highSOfBoard },
  ],
  ['a claim with another algorithm', ['claim_signature'], { claimHeader: { alg: 'ES256' } }],
  ['a result with another algorithm', ['result_signature'], { resultHeader: { alg: 'ES256' } }],
  ['a claim of another robot', ['claim_statement'], { claim: { robot_id: OTHER } }],
  ['a claim of another task', ['claim_statement'], { claim: { task_id: OTHER } }],
  ['a claim of other content', ['claim_statement'], { claim: { content_hash: hashOf('x') } }],
  ['a result of another robot', ['result_statement'], { result: { robot_id: OTHER } }],
  ['a result of another task', ['result_statement'], { result: { task_id: OTHER } }],
  ['a result of other content', ['result_statement'], { result: { content_hash: hashOf('x') } }],
  ['a result of other evidence', ['result_statement'], { result: { proof_hash: hashOf('x') } }],
  [
    'a claim in place of the result',
    ['result_statement'],
    { result: { type: 'claim', proof_hash: undefined, outcome: undefined } },
  ],
  [
    'a result in place of the claim',
    ['claim_statement'],
    { claim: { type: 'result', proof_hash: hashProof(evidence), outcome: 'succeeded' } },
  ],
  [
    'another result, signed later than the anchored one',
    ['inclusion_path'],
    {
      changes: set('signing.result.statement', failedResult),
    },
  ],
  ['a leaf without the statement', ['inclusion_path'], { unsignedLeaf: true }],
  ['a leaf without the statement, alone', ['leaf'], { unsignedLeaf: true, alone: true }],
  ['a claim by another kid', ['kid'], { claimHeader: { kid: kidOf('another text') } }],
  ['a result by another kid', ['kid'], { resultHeader: { kid: kidOf('another text') } }],
  ['two statements with one number', ['numbers'], { result: { number: 1, prev: null } }],
  ['a result before the claim', ['numbers'], { claim: { number: 3, prev: hashOf('2') } }],
  ['a claim before the first number', ['numbers'], { grant: { first_number: 2 } }],
  ['a result that continues another claim', ['numbers'], { result: { prev: hashOf('x') } }],
  ['a first claim that continues another one', ['numbers'], { claim: { prev: hashOf('x') } }],
];
const keys: Bad[] = [
  [
    'another key in the bundle',
    ['key', 'claim_signature', 'result_signature'],
    { changes: set('signing.key.public_key', otherKey.jwk) },
  ],
  ['a text of another algorithm', ['key'], { grant: { algorithm: 'ES256' } }],
  ['a text of another robot', ['key'], { grant: { robot_id: OTHER } }],
  [
    'a text that another owner signed, and the expected owner',
    ['owner'],
    { wallet: strangerAccount, pins: { owner } },
  ],
  [
    'a damaged signature of the wallet, and the expected owner',
    ['owner'],
    { changes: part('signing.key.signature', flipped), pins: { owner } },
  ],
  [
    'a high s of the wallet, and the expected owner',
    ['owner'],
    { changes: part('signing.key.signature', highSOfWallet), pins: { owner } },
  ],
  [
    'a smart-contract wallet, and the expected owner',
    ['owner'],
    { changes: contractSignature, pins: { owner } },
  ],
  ['another owner than expected', ['owner'], { pins: { owner: strangerAccount.address } }],
  ['another key than expected', ['robot_key'], { pins: { robot_key: otherKey.thumbprint } }],
  [
    'no signatures, but the expected key',
    ['inclusion_path', 'stripped'],
    {
      changes: all(set('signing', undefined), set('format', 'svc-bundle/2')),
      pins: { robot_key: robotKey.thumbprint },
    },
  ],
  [
    'unsigned work, but the expected key',
    ['stripped'],
    {
      unsignedLeaf: true,
      changes: all(set('signing', undefined), set('format', 'svc-bundle/2')),
      pins: { robot_key: robotKey.thumbprint },
    },
  ],
  [
    'unsigned work, but the expected owner',
    ['stripped'],
    {
      unsignedLeaf: true,
      changes: all(set('signing', undefined), set('format', 'svc-bundle/2')),
      pins: { owner },
    },
  ],
];
const anchors: Bad[] = [
  [
    'the anchor of another claim',
    ['claim_anchor'],
    { changes: set('signing.claim.anchor', freeAnchor('claim', 'another claim', 4n)) },
  ],
  [
    'a key text anchored as a claim',
    ['key_anchor'],
    {
      changes: (document) => {
        const { text } = (document.signing as { key: { text: string } }).key;
        return set('signing.key.anchor', freeAnchor('claim', text, 3n))(document);
      },
    },
  ],
  [
    'a claim anchored on another chain',
    ['claim_anchor'],
    {
      changes: (document) => {
        const { statement } = (document.signing as { claim: { statement: string } }).claim;
        return set('signing.claim.anchor', freeAnchor('claim', statement, 4n, 1))(document);
      },
    },
  ],
  [
    'an earlier block of the claim',
    ['claim_anchor'],
    { changes: set('signing.claim.anchor.anchor.block_number', '1') },
  ],
  [
    'an earlier time of the claim',
    ['claim_anchor'],
    { changes: set('signing.claim.anchor.anchor.anchored_at', '2025-01-01T00:00:00.000Z') },
  ],
  [
    'another place of the claim in its tree',
    ['claim_anchor'],
    { changes: set('signing.claim.anchor.inclusion.leaf_index', 1) },
  ],
  [
    'another place of the claim, without a chain proof',
    ['claim_anchor'],
    { changes: all(withoutFreeChainProofs, set('signing.claim.anchor.inclusion.leaf_index', 1)) },
  ],
  [
    'a damaged block header of the key',
    ['key_anchor'],
    { changes: part('signing.key.anchor.chain_proof.header', flipped) },
  ],
  [
    'a damaged transaction of the key, without a chain proof',
    ['key_anchor'],
    { changes: all(withoutFreeChainProofs, part('signing.key.anchor.anchor.raw_tx', flipped)) },
  ],
  ['a key revoked in an earlier block', ['revocation'], { revocation: () => ({}), revokedAt: 4n }],
  ['a key revoked in the same block', ['revocation'], { revocation: () => ({}), revokedAt: 5n }],
  ['a revocation without a block', ['revocation'], { revocation: lastIs(1), revokedAt: 0n }],
  [
    'another last statement of this number',
    ['revocation'],
    { revocation: () => ({ last: { number: 2, hash: hashOf('x') } }), revokedAt: 4n },
  ],
  [
    'the revocation of another key',
    ['revocation'],
    { revocation: (kid, hash) => ({ ...lastIs(2)(kid, hash), kid: kidOf('another text') }) },
  ],
  [
    'the revocation of another robot',
    ['revocation'],
    { revocation: (kid, hash) => ({ ...lastIs(2)(kid, hash), robot_id: OTHER }) },
  ],
  [
    'a later block of the revocation',
    ['revocation_anchor'],
    {
      revocation: () => ({}),
      revokedAt: 4n,
      changes: set('signing.revocation.anchor.anchor.block_number', '6'),
    },
  ],
];
const refused: Bad[] = [
  ['an unknown member of signing', null, { changes: set('signing.note', '') }],
  ['an unknown member of the key', null, { changes: set('signing.key.note', '') }],
  ['an unknown member of the claim', null, { changes: set('signing.claim.note', '') }],
  ['an unknown member of the result', null, { changes: set('signing.result.anchor', null) }],
  ['an unknown member of a free anchor', null, { changes: set('signing.claim.anchor.note', '') }],
  [
    'an unknown member of the transaction of a free anchor',
    null,
    { changes: set('signing.claim.anchor.anchor.note', '') },
  ],
  ['no signatures', null, { changes: set('signing', undefined) }],
  ['signatures in format 2', null, { changes: set('format', 'svc-bundle/2') }],
  ['no member for a revocation', null, { changes: set('signing.revocation', undefined) }],
  ['a claim anchored alone', null, { changes: set('signing.claim.anchor.inclusion', null) }],
  [
    'a statement with padding',
    null,
    { changes: part('signing.claim.statement', (text) => `${text}==`) },
  ],
  ['a text with a line feed', null, { changes: part('signing.key.text', (text) => `${text}\n`) }],
  ['the private part of the key', null, { changes: set('signing.key.public_key.d', 'AQ') }],
  [
    'a signature of the wallet in uppercase',
    null,
    { changes: part('signing.key.signature', (hex) => `0x${hex.slice(2).toUpperCase()}`) },
  ],
];

/** How to change `from` into `to`: paths with their new value; without a value, the member is removed. */
function difference(from: unknown, to: unknown, path: string[] = []): [string[], unknown?][] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  const isMembers = (value: unknown): value is Members =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMembers(from) || !isMembers(to)) return [[path, to]];
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((name) =>
    name in to ? difference(from[name], to[name], [...path, name]) : [[[...path, name]]],
  ) as [string[], unknown?][];
}

const base = await signedBundle({});

/**
 * Bundles by their difference from the first one, with what a verifier must find if it is given the block hash that the
 * bundle states.
 */
export const signedBundles = {
  bundle: base,
  good: await Promise.all(
    good.map(async ([name, wallet, options]) => ({
      name,
      wallet,
      pins: options.pins ?? {},
      changes: difference(base, await signedBundle(options)),
    })),
  ),
  bad: await Promise.all(
    [...statements, ...keys, ...anchors, ...refused].map(async ([name, failed, options]) => ({
      name,
      failed,
      pins: options.pins ?? {},
      changes: difference(base, await signedBundle(options)),
    })),
  ),
};

if (import.meta.filename === process.argv[1])
  process.stdout.write(`${JSON.stringify(signedBundles, null, 2)}\n`);
