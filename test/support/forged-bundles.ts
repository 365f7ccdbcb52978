import { fromRlp, type Hex, keccak256, toRlp } from 'viem';
import type { AuditCheckName } from '../../src/proof/audit-check.ts';
import { hexToBytes } from '../../src/proof/bytes.ts';
import type { JsonValue } from '../../src/proof/json-value.ts';
import { readSignedTransaction } from '../../src/proof/signed-transaction.ts';
import { hex, sha256 } from '../proof/reference.ts';
import { anvilAccounts } from './anvil.ts';
import { type ProvenBundle, provenBundle, type RlpMembers } from './proven-bundle.ts';
import { trieProof } from './synthetic-block.ts';

/** A forged bundle of format 2 that no verifier may accept. */
export interface Forgery {
  readonly name: string;
  /** The file. */
  readonly content: string | Uint8Array;
  /** The block hash that the verifier is given. */
  readonly blockHash: Hex;
  /** The checks that fail, in order; null if the document is refused before any check. */
  readonly failed: readonly AuditCheckName[] | null;
  /** 3 if a check fails or a member is unknown, 2 if the document is malformed. */
  readonly exitCode: 2 | 3;
}

type Document = Record<string, JsonValue>;

export const single = provenBundle();
export const batch = provenBundle({ proofs: 5 });

const other = { hash: hex(sha256('other')), id: '0195a1e0-7c00-7000-8000-0000000000ff' } as const;
const stranger = anvilAccounts[1].address.toLowerCase() as Hex;

/** What needs a valid header, and what needs a valid path. */
const ofBlock = [
  'header',
  'block_number',
  'anchored_at',
  'transaction_path',
  'transaction_found',
] as const;
const ofPath = ['transaction_path', 'transaction_found'] as const;
/** What needs a valid signed transaction: of a single, and of a batch. */
const ofSigned = ['signature', 'chain', 'sender', 'self_transfer', 'payload'] as const;
const ofSingle = [...ofSigned, 'proof_hash', 'leaf'] as const;

/** The document with the member at a dotted path replaced; undefined removes it. */
export function changed(
  { bundle }: Pick<ProvenBundle, 'bundle'>,
  path: string,
  value: JsonValue | undefined,
): string {
  const document: Document = JSON.parse(JSON.stringify(bundle));
  const names = path.split('.');
  const last = names.pop() ?? '';
  let object = document;
  for (const name of names) object = object[name] as Document;
  if (value === undefined) delete object[last];
  else object[last] = value;
  return JSON.stringify(document);
}

/** Forgeries by one changed member of a bundle. */
function members(
  of: ProvenBundle,
  changes: readonly [string, JsonValue | undefined, Forgery['failed'], string?][],
): Forgery[] {
  const kind = of.bundle.inclusion === null ? 'a single' : 'a batch';
  return changes.map(([path, value, failed, note = '']) => ({
    name: `${path} of ${kind} ${note || (value === undefined ? 'absent' : 'changed')}`,
    content: changed(of, path, value),
    blockHash: of.blockHash,
    failed,
    exitCode: failed !== null || note.startsWith('added') ? 3 : 2,
  }));
}

/** A forgery whose block, trie and hash are all consistent. */
function consistent(
  name: string,
  options: Parameters<typeof provenBundle>[0],
  failed: Forgery['failed'],
): Forgery {
  const { bundle, blockHash } = provenBundle(options);
  return { name, content: JSON.stringify(bundle), blockHash, failed, exitCode: 3 };
}

function text(name: string, content: string | Uint8Array): Forgery {
  return { name, content, blockHash: single.blockHash, failed: null, exitCode: 2 };
}

/** A bundle of format 1, which no block hash proves. */
const { chain_proof: _, ...withoutProof } = single.bundle;
const old = { ...single, bundle: { ...withoutProof, format: 'svc-bundle/1' } } as ProvenBundle;

const { nodes, header } = single.bundle.chain_proof;
const [top, middle, leaf] = nodes as [Hex, Hex, Hex];
const whole = JSON.stringify(single.bundle);
const another = provenBundle({ proofs: 3, others: 6 });

const payload = readSignedTransaction(single.bundle.anchor.raw_tx).input;

/** The order of secp256k1. */
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const legacy = {
  type: 'legacy',
  gasPrice: 1n,
  maxFeePerGas: undefined,
  maxPriorityFeePerGas: undefined,
} as const;

type Members = (Hex | readonly Hex[])[];

/** Changes the members of a transaction of type 2 after it was signed. */
function withMembers(change: (members: Members) => Members) {
  return (raw: Hex): Hex => {
    const changed = change(fromRlp(`0x${raw.slice(4)}`, 'hex') as Members);
    return `0x02${toRlp(changed as Hex[]).slice(2)}`;
  };
}

interface Signature {
  readonly parity: bigint;
  readonly r: bigint;
  readonly s: bigint;
}

function withSignature(change: (signature: Signature) => readonly [bigint, bigint, bigint]) {
  return withMembers((members) => {
    const [parity = 0n, r = 0n, s = 0n] = members.slice(-3).map((each) => {
      return each === '0x' ? 0n : BigInt(each as Hex);
    });
    return [...members.slice(0, -3), ...change({ parity, r, s }).map(quantity)];
  });
}

function quantity(value: bigint): Hex {
  const digits = value === 0n ? '' : value.toString(16);
  return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`;
}

function withMember(at: number, value: Hex) {
  return (members: RlpMembers) => members.map((member, i) => (i === at ? value : member));
}

/** A trie of one leaf: the path in it, and how it is encoded. */
function trieOf(path: Hex, encode = (node: Hex): Hex => node) {
  return (transaction: Hex) => {
    const node = encode(toRlp([path, transaction]));
    return { root: keccak256(node), nodes: [node] };
  };
}

type Node = readonly unknown[];

/** A branch whose item at an index is not empty. */
function branch(at: number, item: unknown): Node {
  return Array.from({ length: 17 }, (_, i) => (i === at ? item : '0x'));
}

function link(at: number) {
  return (child: Hex): Node => branch(at, child);
}

/** Trie nodes that each hold the hash of the next one. */
function chainOf(...parts: readonly (Node | ((child: Hex) => Node))[]) {
  const nodes: Hex[] = [];
  for (const part of parts.toReversed()) {
    const node = typeof part === 'function' ? part(keccak256(nodes[0] ?? '0x')) : part;
    nodes.unshift(toRlp(node as Hex[]));
  }
  return { root: keccak256(nodes[0] ?? '0x'), nodes };
}

function nested(depth: number): readonly Hex[] {
  return depth === 0 ? [] : ([nested(depth - 1)] as unknown as Hex[]);
}

function withMore(count: number) {
  return (members: RlpMembers): RlpMembers => [...members, ...Array<Hex>(count).fill('0x')];
}

export const forgeries: readonly Forgery[] = [
  {
    ...text('the hash of another block', whole),
    blockHash: other.hash,
    failed: ['header', 'block_hash'],
    exitCode: 3,
  },
  ...members(single, [
    ['anchor.block_hash', other.hash, ['block_hash']],
    ['anchor.block_number', '43', ['block_number']],
    ['anchor.block_number', '9'.repeat(79), null, 'of 79 digits'],
    ['anchor.anchored_at', '2020-01-01T00:00:00.000Z', ['anchored_at']],
    [
      'chain_proof.header',
      another.bundle.chain_proof.header,
      ['header', ...ofPath],
      'of another block',
    ],
    ['chain_proof.header', `${header}00`, ofBlock, 'with a byte more'],
    ['chain_proof.header', header.slice(0, -2), ofBlock, 'with a byte less'],
    ['chain_proof.header', `0xfa00${header.slice(4)}`, ofBlock, 'with a longer length'],
    ['chain_proof.header', top, ofBlock, 'that is a trie node'],
    ['chain_proof.header', '0x80', ofBlock, 'that is no list'],
    ['chain_proof.header', '0x', null, 'empty'],
    ['chain_proof.header', header.toUpperCase().replace('X', 'x'), null, 'in upper case'],
    ['chain_proof.header', header.slice(2), null, 'without 0x'],
    ['chain_proof.header', `0x${'00'.repeat(65_537)}`, null, 'that is too long'],
    ['chain_proof.header', undefined, null],
    ['chain_proof.nodes', [], null, 'empty'],
    ['chain_proof.nodes', [top, middle], ofPath, 'without the leaf'],
    ['chain_proof.nodes', [middle, leaf], ofPath, 'without the root'],
    ['chain_proof.nodes', [top, leaf, middle], ofPath, 'reordered'],
    ['chain_proof.nodes', [...nodes, leaf], ofPath, 'with a node more'],
    ['chain_proof.nodes', [top, ...nodes], ofPath, 'with a node twice'],
    ['chain_proof.nodes', [...nodes, '0x80'], ofPath, 'with an empty node more'],
    ['chain_proof.nodes', [top, middle, `${leaf}00`], ofPath, 'with a byte more'],
    ['chain_proof.nodes', [...another.bundle.chain_proof.nodes], ofPath, 'of another block'],
    ['chain_proof.nodes', Array(17).fill(top), null, 'of 17'],
    ['chain_proof.nodes', [top, 7], null, 'with a number'],
    ['chain_proof.nodes', [top, '0x'], null, 'with an empty text'],
    ['chain_proof.nodes', top, null, 'that are a text'],
    ['chain_proof.nodes', undefined, null],
    ['chain_proof.note', 'Certified', null, 'added'],
    ['chain_proof', undefined, null],
    ['chain_proof', null, null, 'null'],
    ['anchor.tx_index', 1, ofPath],
    ['anchor.tx_index', 200, ofPath, 'beyond the block'],
    ['anchor.tx_index', -1, null, 'negative'],
    ['anchor.tx_hash', other.hash, ['raw_tx']],
    [
      'anchor.raw_tx',
      another.bundle.anchor.raw_tx,
      ['transaction_found', 'raw_tx', 'payload', 'proof_hash', 'leaf'],
    ],
    [
      'anchor.raw_tx',
      `${single.bundle.anchor.raw_tx}00`,
      ['transaction_found', 'raw_tx', ...ofSingle],
      'with a byte more',
    ],
    ['anchor.from', stranger, ['sender']],
    ['anchor.note', 'Certified', null, 'added'],
    ['chain_id', 1, ['chain']],
    ['chain_id', '31337', null, 'a text'],
    ['chain_id', 31337.5, null, 'a fraction'],
    ['task.id', other.id, ['leaf']],
    ['task.robot_id', other.id, ['leaf']],
    ['task.note', 'Certified', null, 'added'],
    ['claim.title', 'Sort nothing', ['leaf']],
    ['claim.description', null, ['leaf']],
    ['claim.expected_result', { parcels: 1 }, ['leaf']],
    ['claim.occurred_at', null, ['leaf']],
    ['claim.created_at', '2020-01-01T00:00:00.000Z', ['leaf']],
    ['claim.result', 'inspected', null, 'added'],
    ['proof', { picked: 13, spoken: 'Grüße' }, ['evidence']],
    ['proof', 'text', null, 'a text'],
    ['proof_hash', other.hash, ['proof_hash', 'leaf', 'evidence']],
    [
      'inclusion',
      batch.bundle.inclusion as never,
      ['payload', 'leaf_count', 'root', 'inclusion_path'],
      'of a batch',
    ],
    ['inclusion', undefined, null],
    ['note', 'Certified', null, 'added'],
    ['format', 'svc-bundle/3', null, 'of the future'],
    ['format', 'svc-bundle/1', null, 'added: svc-bundle/1 has no chain proof'],
  ]),
  ...members(batch, [
    ['inclusion.root', other.hash, ['root']],
    ['inclusion.leaf_index', 1, ['inclusion_path']],
    ['inclusion.leaf_index', 5, ['inclusion_path'], 'beyond the tree'],
    ['inclusion.leaf_count', 6, ['leaf_count']],
    ['inclusion.leaf_count', 2 ** 40, ['leaf_count', 'inclusion_path'], 'beyond four bytes'],
    ['inclusion.path', [], ['inclusion_path'], 'empty'],
    [
      'inclusion.path',
      batch.bundle.inclusion?.path.slice(1) ?? [],
      ['inclusion_path'],
      'shortened',
    ],
    [
      'inclusion.path',
      [...(batch.bundle.inclusion?.path ?? []), other.hash],
      ['inclusion_path'],
      'lengthened',
    ],
    [
      'inclusion.path',
      [...(batch.bundle.inclusion?.path ?? [])].reverse(),
      ['inclusion_path'],
      'reversed',
    ],
    ['inclusion.note', 'Certified', null, 'added'],
    ['inclusion', null, ['payload', 'proof_hash', 'leaf'], 'null'],
    ['task.id', other.id, ['inclusion_path']],
    ['claim.title', 'Sort nothing', ['inclusion_path']],
    ['proof', { picked: 13 }, ['evidence']],
  ]),
  ...members(old, [
    ['proof_hash', undefined, null, 'absent in svc-bundle/1'],
    ['proof_hash', '0x12', null, 'cut short in svc-bundle/1'],
    ['inclusion', undefined, null, 'absent in svc-bundle/1'],
    ['anchor', 'text', null, 'a text in svc-bundle/1'],
    ['anchor.block_number', '9'.repeat(79), null, 'of 79 digits in svc-bundle/1'],
    ['note', 'Certified', null, 'added to svc-bundle/1'],
    ['anchor.note', 'Certified', null, 'added to svc-bundle/1'],
    ['chain_proof', null, null, 'added to svc-bundle/1'],
  ]),
  text(
    'svc-bundle/1 that is malformed and has a member more',
    changed(old, 'claim', null).replace('{', '{"note":1,'),
  ),
  {
    name: 'the place and path of another transaction',
    content: changed(
      { bundle: { ...single.bundle, anchor: { ...single.bundle.anchor, tx_index: 0 } } },
      'chain_proof.nodes',
      [
        ...trieProof(
          single.transactions.map((raw) => hexToBytes(raw)),
          0,
        ).nodes,
      ],
    ),
    blockHash: single.blockHash,
    failed: ['transaction_found'],
    exitCode: 3,
  },
  consistent('value 1', { transaction: { value: 1n } }, ['self_transfer']),
  consistent('another recipient', { transaction: { to: stranger } }, ['self_transfer']),
  consistent('a contract creation', { transaction: { to: null } }, ['self_transfer']),
  consistent('a signature for another chain', { transaction: { chainId: 1 } }, ['chain']),
  consistent(
    'a signature for no chain',
    { transaction: { ...legacy, chainId: undefined } },
    ofSingle,
  ),
  consistent(
    'a blob transaction',
    {
      transaction: {
        type: 'eip4844',
        blobVersionedHashes: [`0x01${'00'.repeat(31)}`],
        maxFeePerBlobGas: 1n,
      } as never,
    },
    ofSingle,
  ),
  consistent(
    'a transaction of type 4',
    { transaction: { type: 'eip7702', authorizationList: [] } as never },
    ofSingle,
  ),
  consistent('a transaction of type 126', { raw: (raw) => `0x7e${raw.slice(4)}` }, ofSingle),
  consistent('a transaction with a type byte 0', { raw: (raw) => `0x00${raw.slice(4)}` }, ofSingle),
  consistent(
    'a high s',
    { raw: withSignature(({ r, s, parity }) => [1n - parity, r, N - s]) },
    ofSingle,
  ),
  consistent('parity 2', { raw: withSignature(({ r, s }) => [2n, r, s]) }, ofSingle),
  consistent(
    'the other parity',
    { raw: withSignature(({ r, s, parity }) => [1n - parity, r, s]) },
    ['sender', 'self_transfer'],
  ),
  consistent('r of 0', { raw: withSignature(({ s, parity }) => [parity, 0n, s]) }, ofSingle),
  consistent('s of 0', { raw: withSignature(({ r, parity }) => [parity, r, 0n]) }, ofSingle),
  consistent(
    'r off the curve',
    { raw: withSignature(({ s, parity }) => [parity, 5n, s]) },
    ofSingle,
  ),
  consistent(
    'r beyond the order',
    { raw: withSignature(({ s, parity }) => [parity, N, s]) },
    ofSingle,
  ),
  consistent(
    'a transaction with a member more',
    { raw: withMembers((all) => [...all, '0x']) },
    ofSingle,
  ),
  consistent(
    'a transaction with a member less',
    { raw: withMembers((all) => all.slice(1)) },
    ofSingle,
  ),
  consistent(
    'a nonce with a leading zero',
    { raw: withMembers(([chain, , ...rest]) => [chain ?? '0x', '0x0007', ...rest]) },
    ofSingle,
  ),
  consistent(
    'an access list of numbers',
    { raw: withMembers((all) => all.map((each, i) => (i === 8 ? ['0x01'] : each))) },
    ofSingle,
  ),
  consistent('calldata with a byte more', { transaction: { data: `${payload}00` } }, [
    'payload',
    'proof_hash',
    'leaf',
  ]),
  consistent('calldata without anything', { transaction: { data: '0x' } }, [
    'payload',
    'proof_hash',
    'leaf',
  ]),
  consistent(
    'calldata of a batch of 1',
    { proofs: 2, transaction: { data: `0x525450410101${'ab'.repeat(32)}00000001` } },
    ['payload', 'leaf_count', 'root', 'inclusion_path'],
  ),
  consistent('a header of 14 members', { header: (all) => all.slice(0, 14) }, ofBlock),
  consistent('a header with a list', { header: (all) => [...all, []] }, ofBlock),
  consistent('a number with a leading zero', { header: withMember(8, '0x002a') }, ofBlock),
  consistent('a root of 31 bytes', { header: withMember(4, `0x${'ab'.repeat(31)}`) }, ofBlock),
  consistent('a block after the year 9999', { header: withMember(11, '0x3afff44180') }, ofBlock),
  consistent('another time in the block', { header: withMember(11, '0x01') }, ['anchored_at']),
  consistent(
    'a trie node in non-canonical RLP',
    { others: 0, trie: trieOf('0x2080', (node) => `0xf900${node.slice(4)}`) },
    ofPath,
  ),
  consistent('a trie node with an unknown flag', { others: 0, trie: trieOf('0x4080') }, ofPath),
  consistent('a trie node with a padded path', { others: 0, trie: trieOf('0x2180') }, ofPath),
  consistent('a trie node of another key', { others: 0, trie: trieOf('0x2081') }, ofPath),
  consistent('a trie leaf with a path too long', { others: 0, trie: trieOf('0x208080') }, ofPath),
  consistent('an extension in place of a leaf', { others: 0, trie: trieOf('0x0080') }, ofPath),
  consistent(
    'a long trie node inside its parent',
    { others: 0, trie: (raw) => chainOf(branch(8, ['0x30', raw])) },
    ofPath,
  ),
  consistent(
    'a transaction as the value of a branch',
    { others: 0, trie: (raw) => chainOf(link(8), link(0), branch(16, raw)) },
    ofPath,
  ),
  consistent(
    'an extension without a path',
    { others: 0, trie: (raw) => chainOf((child) => ['0x00', child], ['0x2080', raw]) },
    ofPath,
  ),
  consistent(
    'a trie node of 3 items',
    { others: 0, trie: (raw) => chainOf(['0x2080', raw, '0x']) },
    ofPath,
  ),
  consistent(
    'an access list nested too deep',
    { raw: withMembers((all) => all.map((each, i) => (i === 8 ? nested(9) : each))) },
    ofSingle,
  ),
  consistent('a header of 65 members', { header: withMore(45) }, ofBlock),
  text('a member name twice', whole.replace('{', '{"chain_id":31337,')),
  text('a member name twice in the evidence', whole.replace('"proof":{', '"proof":{"picked":13,')),
  text('text after the document', `${whole}x`),
  text('a byte order mark', `\uFEFF${whole}`),
  text('bytes that are not UTF-8', Buffer.from(whole, 'latin1')),
  text('a lone surrogate', whole.replace('arm-1', '\\ud800')),
  text('a number beyond a double', whole.replace('"picked":12', '"picked":1e400')),
  text(
    'an integer that a double rounds',
    whole.replace('"picked":12', '"picked":9007199254740993'),
  ),
  text(
    'evidence nested too deep',
    whole.replace('"picked":12', `"picked":${'['.repeat(130)}${']'.repeat(130)}`),
  ),
  text('a member named __proto__', whole.replace('"picked":12', '"__proto__":12')),
  text('NaN', whole.replace('"picked":12', '"picked":NaN')),
  text('an array', `[${whole}]`),
  text('an empty file', ''),
];
