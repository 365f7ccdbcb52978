// Makes the test vectors of keys, statements, sequences and promises: `node --import ./test/support/typescript.js
// test/support/statement-vectors.ts > test/fixtures/statements.json`, then `npm run format`. Each run makes the same ones.
import { createHash, createPrivateKey, sign } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { privateKeyToAccount } from 'viem/accounts';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import {
  type AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../src/protocol/anchoring-accounts.ts';
import { anvilAccounts } from './anvil.ts';

type Members = Record<string, unknown>;
export type Signer = {
  alg: string;
  jwk: Members;
  thumbprint: string;
  sign: (text: string) => Buffer;
};

const ORIGIN = 'https://svc.example.org';
const ROBOT = '01900000-0000-7000-8000-00000000000a';
const [owner] = anvilAccounts;
const wallet = owner.address.toLowerCase();

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url');
const sha256 = (text: string) => createHash('sha256').update(text).digest();
const hash = (text: string) => `0x${sha256(text).toString('hex')}`;
const task = (n: number) => `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

const ORDER_25519 = ed25519.CURVE.n;
const ORDER_256 = p256.CURVE.n;

export function edwards(seed: number): Signer & { secret: Buffer } {
  const secret = Buffer.alloc(32, seed);
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), secret]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const jwk = { crv: 'Ed25519', kty: 'OKP', x: base64url(ed25519.getPublicKey(secret)) };
  return {
    alg: 'Ed25519',
    jwk,
    thumbprint: base64url(sha256(canonicalJson(jwk))),
    secret,
    sign: (text) => sign(null, Buffer.from(text), key),
  };
}

export function nist(seed: number): Signer {
  const secret = Buffer.alloc(32, seed);
  const point = p256.getPublicKey(secret, false);
  const [x, y] = [base64url(point.slice(1, 33)), base64url(point.slice(33))];
  const jwk = { crv: 'P-256', kty: 'EC', x, y };
  return {
    alg: 'ES256',
    jwk,
    thumbprint: base64url(sha256(canonicalJson(jwk))),
    sign: (text) =>
      Buffer.from(p256.sign(sha256(text), secret, { lowS: true }).toCompactRawBytes()),
  };
}

const [robotKey, otherKey, boardKey, serviceKey] = [edwards(1), edwards(2), nist(3), edwards(4)];

const grant = ({ alg, thumbprint }: Signer, first: number, predecessor = 'none') =>
  [
    'This key signs the work of a robot of the svc service at this origin.',
    `Origin: ${ORIGIN}`,
    `Wallet: ${wallet}`,
    `Robot: ${ROBOT}`,
    `Key: ${alg} ${thumbprint}`,
    `Previous key: ${predecessor}`,
    `First number: ${first}`,
    'From this number on, every task of this robot is signed.',
  ].join('\n');
const kidOf = (text: string) => base64url(sha256(text));
const robotText = grant(robotKey, 1);
const kid = kidOf(robotText);
const boardText = grant(boardKey, 413, kid);
const boardKid = kidOf(boardText);
const revocation = (last: string) =>
  [
    'This key no longer signs the work of a robot of the svc service at this origin.',
    `Origin: ${ORIGIN}`,
    `Wallet: ${wallet}`,
    `Robot: ${ROBOT}`,
    `Key: ${kid}`,
    `Last number: ${last}`,
  ].join('\n');

const content = {
  description: null,
  expected_result: { parcels: 12 },
  occurred_at: null,
  title: 'Sort parcels',
};
const epoch = task(0xe1);
const claim: Members = {
  clock_synchronized: true,
  content_hash: hash(canonicalJson(content)),
  epoch,
  number: 1,
  prev: null,
  robot_id: ROBOT,
  task_id: task(1),
  time: '2026-11-28T09:00:00.000Z',
  type: 'claim',
};
const result: Members = {
  ...claim,
  type: 'result',
  number: 2,
  time: '2026-11-28T09:05:00.000Z',
  proof_hash: hash('{"parcels":12}'),
  outcome: 'succeeded',
};
const header = { alg: 'Ed25519', kid, typ: 'svc-statement/1' };
const boardHeader = { ...header, alg: 'ES256', kid: boardKid };

const signedOf = (head: unknown, payload: unknown) =>
  [head, payload]
    .map((part) => base64url(typeof part === 'string' ? part : canonicalJson(part)))
    .join('.');
const jws = (payload: unknown, head: unknown = header, signer: Signer = robotKey) => {
  const signed = signedOf(head, payload);
  return `${signed}.${base64url(signer.sign(signed))}`;
};
const without = (name: string, members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([each]) => each !== name));
const withSignature = (text: string, change: (bytes: Buffer) => Uint8Array) => {
  const [head, payload, signature = ''] = text.split('.');
  return `${head}.${payload}.${base64url(change(Buffer.from(signature, 'base64url')))}`;
};
const number = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
const bytesOf = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
const little = (value: bigint) => bytesOf(value).reverse();
/** Replaces s of an ES256 signature. */
const withS = (text: string, change: (s: bigint) => bigint) =>
  withSignature(text, (bytes) =>
    Buffer.concat([bytes.subarray(0, 32), bytesOf(change(number(bytes.subarray(32))))]),
  );

const good = jws(claim);
const boardClaim = { ...claim, number: 413 };
const goodBoard = jws(boardClaim, boardHeader, boardKey);

/** A signature that holds only if both sides are multiplied by the cofactor: R has a point of order 8 added. */
function signedWithTorsion(payload: Members): string {
  const signed = signedOf(header, payload);
  const { scalar, prefix } = ed25519.utils.getExtendedPublicKey(robotKey.secret);
  const sha512 = (...parts: Uint8Array[]) =>
    number(createHash('sha512').update(Buffer.concat(parts)).digest().reverse()) % ORDER_25519;
  const r = sha512(prefix, Buffer.from(signed));
  const torsion = ed25519.ExtendedPoint.fromHex(
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  );
  const point = ed25519.ExtendedPoint.BASE.multiply(r).add(torsion).toRawBytes();
  const k = sha512(point, ed25519.getPublicKey(robotKey.secret), Buffer.from(signed));
  return `${signed}.${base64url(Buffer.concat([point, little((r + k * scalar) % ORDER_25519)]))}`;
}

/** Text with one character of the signature changed in bits that encode nothing. */
const otherLastCharacter = (text: string) =>
  `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'h'}`;

const statements = {
  good: [
    { name: 'a claim', key: 'robot', text: good, statement: claim },
    { name: 'a result that succeeded', key: 'robot', text: jws(result), statement: result },
    ...['failed', 'aborted'].map((outcome) => {
      const statement = { ...result, outcome };
      return { name: `a result that ${outcome}`, key: 'robot', text: jws(statement), statement };
    }),
    ...[
      ['a clock that is not synchronized', { ...claim, clock_synchronized: false }] as const,
      ['the highest number', { ...claim, number: 2 ** 53 - 1, prev: hash('x') }] as const,
      ['the last time', { ...claim, time: '9999-12-31T23:59:59.999Z' }] as const,
    ].map(([name, statement]) => ({ name, key: 'robot', text: jws(statement), statement })),
    { name: 'a claim by ES256', key: 'board', text: goodBoard, statement: boardClaim },
    ...[414, 415].map((n) => {
      const statement = { ...result, number: n, prev: hash(String(n)) };
      return {
        name: `result ${n} by ES256`,
        key: 'board',
        text: jws(statement, boardHeader, boardKey),
        statement,
      };
    }),
  ],
  malformed: [
    ['no signature', good.split('.').slice(0, 2).join('.')],
    ['a fourth part', `${good}.`],
    ['padding', `${good}==`],
    ['a line feed at the end', `${good}\n`],
    ['bits that encode nothing', otherLastCharacter(good)],
    ['base64 in place of base64url', good.replace('.', '+.')],
    ['a signature of 63 bytes', withSignature(good, (bytes) => bytes.subarray(1))],
    [
      'a signature of 65 bytes',
      withSignature(good, (bytes) => Buffer.concat([bytes, Buffer.of(0)])),
    ],
    ['the form of the JSON serialization', JSON.stringify({ payload: '', signatures: [] })],
    ['a header with another member', jws(claim, { ...header, jku: 'https://example.org' })],
    ['a header with crit', jws(claim, { ...header, crit: ['exp'] })],
    ['a header without kid', jws(claim, without('kid', header))],
    ...['none', 'EdDSA', 'HS256', 'es256', 'ES256K'].map((alg) => [
      `alg ${alg}`,
      jws(claim, { ...header, alg }),
    ]),
    ['a kid that is not a SHA-256', jws(claim, { ...header, kid: 'robot' })],
    ['the typ JWT', jws(claim, { ...header, typ: 'JWT' })],
    ['the typ of a promise', jws(claim, { ...header, typ: 'svc-promise/1' })],
    [
      'a header in another order',
      jws(claim, `{"kid":"${kid}","alg":"Ed25519","typ":"svc-statement/1"}`),
    ],
    ['a header with a space', jws(claim, canonicalJson(header).replace(',', ', '))],
    ['a header that is an array', jws(claim, '[]')],
    [
      'a payload in another order',
      jws(JSON.stringify({ type: 'claim', ...without('type', claim) })),
    ],
    ['a payload with a space', jws(`${canonicalJson(claim)} `)],
    ['a member twice', jws(canonicalJson(claim).replace('{', '{"clock_synchronized":true,'))],
    ['an escape that is not needed', jws(canonicalJson(claim).replace('claim', '\\u0063laim'))],
    ['a number in another form', jws(canonicalJson(claim).replace('"number":1', '"number":1.0'))],
    ['a payload that is an array', jws('[]')],
    [
      'a payload that is not UTF-8',
      `${base64url(canonicalJson(header))}.${base64url(Buffer.of(0xff))}.${good.split('.')[2]}`,
    ],
    ['the number 0', jws({ ...claim, number: 0 })],
    ['the number 1.5', jws({ ...claim, number: 1.5 })],
    [
      'the number 2^53',
      jws(canonicalJson(claim).replace('"number":1', '"number":9007199254740992')),
    ],
    ['a number as text', jws({ ...claim, number: '1' })],
    [
      'a hash in uppercase',
      jws({ ...claim, content_hash: String(claim.content_hash).toUpperCase() }),
    ],
    ['no prev', jws(without('prev', claim))],
    ['a time without milliseconds', jws({ ...claim, time: '2026-11-28T09:00:00Z' })],
    ['a time with an offset', jws({ ...claim, time: '2026-11-28T10:00:00.000+01:00' })],
    ['an id in uppercase', jws({ ...claim, robot_id: ROBOT.toUpperCase() })],
    ['an epoch that is not a UUID', jws({ ...claim, epoch: 'boot 7' })],
    ['a clock that is a text', jws({ ...claim, clock_synchronized: 'true' })],
    ['an unknown type', jws({ ...claim, type: 'note' })],
    ['an unknown outcome', jws({ ...result, outcome: 'verified' })],
    ['a result without outcome', jws(without('outcome', result))],
    ['a result without proof hash', jws(without('proof_hash', result))],
    ['a claim with an outcome', jws({ ...claim, outcome: 'succeeded' })],
    ['an unknown member', jws({ ...claim, note: 'Certified' })],
    ['17 000 characters', jws({ ...claim, note: 'x'.repeat(13_000) })],
  ].map(([name, text]) => ({ name, text })),
  forged: [
    [
      'another payload under the signature',
      'robot',
      `${signedOf(header, { ...claim, task_id: task(2) })}.${good.split('.')[2]}`,
    ],
    ['the signature of another key', 'robot', jws(claim, header, otherKey)],
    ['the algorithm of another key', 'robot', jws(claim, { ...header, alg: 'ES256' }, boardKey)],
    [
      's plus the order of Ed25519',
      'robot',
      withSignature(good, (bytes) => {
        const s = number(Buffer.from(bytes.subarray(32)).reverse());
        return Buffer.concat([bytes.subarray(0, 32), little(s + ORDER_25519)]);
      }),
    ],
    ['a signature that needs the cofactor', 'robot', signedWithTorsion(claim)],
    ['a signature of zeros by Ed25519', 'robot', withSignature(good, () => Buffer.alloc(64))],
    [
      'a signature of the payload alone',
      'robot',
      `${good.split('.').slice(0, 2).join('.')}.${base64url(robotKey.sign(good.split('.')[1] ?? ''))}`,
    ],
    ['a high s by ES256', 'board', withS(goodBoard, (s) => ORDER_256 - s)],
    ['s = 0 by ES256', 'board', withS(goodBoard, () => 0n)],
    [
      'r = 0 by ES256',
      'board',
      withSignature(goodBoard, (bytes) => Buffer.concat([Buffer.alloc(32), bytes.subarray(32)])),
    ],
  ].map(([name, key, text]) => ({ name, key, text })),
};

const point = (hex: string) => base64url(Buffer.from(hex, 'hex'));
const smallOrder = [
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  `${'00'.repeat(31)}80`,
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
];
const keys = {
  good: { robot: robotKey, other: otherKey, board: boardKey, service: serviceKey },
  malformed: [
    ...smallOrder.map((hex) => [
      `a point of small order: ${hex.slice(0, 8)}`,
      { ...robotKey.jwk, x: point(hex) },
    ]),
    ['a point in a longer form', { ...robotKey.jwk, x: point(`ee${'ff'.repeat(30)}7f`) }],
    ['a point that is not on the curve', { ...boardKey.jwk, y: boardKey.jwk.x }],
    ['the point 0, 0', { ...boardKey.jwk, x: point('00'.repeat(32)), y: point('00'.repeat(32)) }],
    ['the private part', { ...robotKey.jwk, d: base64url(robotKey.secret) }],
    ['the curve X25519', { ...robotKey.jwk, crv: 'X25519' }],
    ['padding', { ...robotKey.jwk, x: `${robotKey.jwk.x}=` }],
    ['31 bytes', { ...robotKey.jwk, x: point('02'.repeat(31)) }],
    ['no y', without('y', boardKey.jwk)],
  ].map(([name, key]) => ({ name, key })),
};

const keyTexts = {
  good: [
    { name: 'the first key of a robot', text: robotText, kid },
    { name: 'the next key of a robot', text: boardText, kid: boardKid },
    { name: 'the end of a key', text: revocation(`412 ${hash('412')}`) },
    { name: 'the end of a key that signed nothing', text: revocation('none') },
  ],
  malformed: [
    ['carriage returns', robotText.replaceAll('\n', '\r\n')],
    ['a line feed at the end', `${robotText}\n`],
    ['another title', robotText.replace('This key', 'That key')],
    ['no last line', robotText.split('\n').slice(0, -1).join('\n')],
    ['a wallet in uppercase', robotText.replace(wallet, wallet.toUpperCase().replace('0X', '0x'))],
    ['an origin with a path', robotText.replace(ORIGIN, `${ORIGIN}/svc`)],
    ['the number 0', robotText.replace('number: 1', 'number: 0')],
    ['the number 01', robotText.replace('number: 1', 'number: 01')],
    ['the algorithm RS256', robotText.replace('Ed25519', 'RS256')],
    ['a last number without hash', revocation('412')],
  ].map(([name, text]) => ({ name, text })),
};

const leafOf = (n: number) => ({
  created_at: '2026-11-28T09:00:00.120Z',
  leaf: hash(`leaf ${n}`),
  task_id: task(n),
});
const promise = {
  accepted_at: '2026-11-28T09:05:01.000Z',
  anchored_by: '2026-11-29T09:05:01.000Z',
  chain_id: 1,
  leaves: [leafOf(1)],
  origin: ORIGIN,
};
const promiseHeader = { alg: 'Ed25519', kid: serviceKey.thumbprint, typ: 'svc-promise/1' };
const promised = (payload: unknown, head: unknown = promiseHeader, signer: Signer = serviceKey) =>
  jws(payload, head, signer);
const many = { ...promise, leaves: Array.from({ length: 50 }, (_, n) => leafOf(n)) };
const promises = {
  good: [
    { name: 'one result', key: 'service', text: promised(promise), promise },
    { name: '50 results', key: 'service', text: promised(many), promise: many },
    {
      name: 'one result by ES256',
      key: 'board',
      text: promised(
        promise,
        { ...promiseHeader, alg: 'ES256', kid: boardKey.thumbprint },
        boardKey,
      ),
      promise,
    },
  ],
  malformed: [
    ['no results', promised({ ...promise, leaves: [] })],
    ['a malformed leaf', promised({ ...promise, leaves: [{ ...leafOf(1), leaf: '0x12' }] })],
    ['an unknown member', promised({ ...promise, fee: 0 })],
    [
      'an unknown member of a result',
      promised({ ...promise, leaves: [{ ...leafOf(1), note: '' }] }),
    ],
    ['the typ of a statement', promised(promise, { ...promiseHeader, typ: 'svc-statement/1' })],
    ['chain 0', promised({ ...promise, chain_id: 0 })],
    ['no time limit', promised(without('anchored_by', promise))],
    ['a day of no month', promised({ ...promise, anchored_by: '2026-02-30T09:05:01.000Z' })],
    ['second 60', promised({ ...promise, anchored_by: '2026-11-29T09:05:60.000Z' })],
    ['hour 24', promised({ ...promise, accepted_at: '2026-11-29T24:00:00.000Z' })],
    ['a time without milliseconds', promised({ ...promise, anchored_by: '2026-11-29T09:05:01Z' })],
    ['a member twice', promised(canonicalJson(promise).replace('{', '{"origin":"",'))],
    ['leaves that are an object', promised({ ...promise, leaves: { 0: leafOf(1) } })],
    ['a kid that is not a SHA-256', promised(promise, { ...promiseHeader, kid: 'service' })],
  ].map(([name, text]) => ({ name, text })),
  forged: [
    [
      'another deadline under the signature',
      'service',
      `${signedOf(promiseHeader, { ...promise, anchored_by: '2026-12-29T09:05:01.000Z' })}.${promised(promise).split('.')[2]}`,
    ],
    ['the signature of another key', 'service', promised(promise, promiseHeader, otherKey)],
    [
      'the algorithm of another key',
      'service',
      promised(promise, { ...promiseHeader, alg: 'ES256' }, boardKey),
    ],
    [
      'a high s by ES256',
      'board',
      withS(
        promised(promise, { ...promiseHeader, alg: 'ES256', kid: boardKey.thumbprint }, boardKey),
        (s) => ORDER_256 - s,
      ),
    ],
  ].map(([name, key, text]) => ({ name, key, text })),
};

type Item = { number: number; signed_hash: string; prev: string | null; epoch: string };
const items = (...numbers: number[]): Item[] =>
  numbers.map((n) => ({
    number: n,
    signed_hash: hash(`${n}`),
    prev: n === 1 ? null : hash(`${n - 1}`),
    epoch,
  }));
const withheld = ({ number: n, signed_hash }: Item) => ({ number: n, signed_hash });
const changed = (list: Item[], at: number, members: Partial<Item>) =>
  list.map((item, i) => (i === at ? { ...item, ...members } : item));
const other = task(0xe2);
const sequences = {
  good: [
    { name: 'five statements', first: 1, items: items(1, 2, 3, 4, 5) },
    {
      name: 'two starts of the agent',
      first: 1,
      items: changed(items(1, 2, 3), 2, { epoch: other }),
    },
    { name: 'the same statement twice', first: 1, items: items(1, 2, 2, 3) },
    {
      name: 'a statement of which only the hash is left',
      first: 1,
      items: items(1, 2, 3).map((item, i) => (i === 1 ? withheld(item) : item)),
    },
    { name: 'no statements', first: 1, items: [] },
  ],
  bad: [
    { name: 'a statement is missing', items: items(1, 2, 4, 5), missing: [{ first: 3, last: 3 }] },
    {
      name: 'the first statements are missing',
      items: items(3, 4),
      missing: [{ first: 1, last: 2 }],
    },
    {
      name: 'a fork',
      items: [...items(1, 2), { ...items(2)[0], signed_hash: hash('2b') }, ...items(3)],
      forks: [2],
    },
    {
      name: 'a branch',
      items: [
        ...items(1, 2),
        { ...items(2)[0], signed_hash: hash('2b'), epoch: other },
        ...items(3),
      ],
      branches: [2],
    },
    {
      name: 'a branch that goes on',
      items: [
        ...items(1, 2),
        { ...items(2)[0], signed_hash: hash('2b'), epoch: other },
        ...items(3),
        { ...items(3)[0], signed_hash: hash('3b'), prev: hash('2b'), epoch: other },
      ],
      branches: [2],
    },
    {
      name: 'a statement that continues another one',
      items: changed(items(1, 2, 3), 2, { prev: hash('x') }),
      broken: [3],
    },
    {
      name: 'a first statement that continues another one',
      items: changed(items(1, 2), 0, { prev: hash('0') }),
      broken: [1],
    },
  ].map((each) => ({ missing: [], forks: [], branches: [], broken: [], first: 1, ...each })),
};

const leaves = {
  proofs: [jws(result), jws({ ...result, outcome: 'failed' })].map((statement, n) => {
    const members = {
      proof_hash: hash('{"parcels":12}'),
      task_id: task(1),
      robot_id: ROBOT,
      claim_hash: hash(`claim ${n}`),
      statement_hash: hash(statement),
    };
    const id = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex');
    const hex = (text: string) => Buffer.from(text.slice(2), 'hex');
    const { proof_hash, claim_hash, statement_hash } = members;
    const bytes = Buffer.concat([
      Buffer.of(0),
      hex(proof_hash),
      id(task(1)),
      id(ROBOT),
      hex(claim_hash),
      hex(statement_hash),
    ]);
    return { ...members, leaf: `0x${createHash('sha256').update(bytes).digest('hex')}` };
  }),
  free: [['claim', good] as const, ['key_text', robotText] as const].map(([kind, text], n) => {
    const bytes = Buffer.concat([Buffer.of(0, n + 1), sha256(text)]);
    return { kind, text, leaf: `0x${createHash('sha256').update(bytes).digest('hex')}` };
  }),
};

// Lists of anchoring accounts, with the keys of promises.

const [own, second] = anvilAccounts.map(({ privateKey }) => privateKeyToAccount(privateKey)) as [
  ReturnType<typeof privateKeyToAccount>,
  ReturnType<typeof privateKeyToAccount>,
];
const promiseKey = ({ jwk, thumbprint }: Signer, kid = thumbprint) => ({
  promise_key: { kid, public_key: jwk as { kty: 'OKP'; crv: 'Ed25519'; x: string } },
});

async function entryOf(by: typeof own, changes: Partial<ListedAccount> = {}) {
  const entry = { chain_id: 1, address: by.address, first_block: '1', last_block: null };
  const all = { ...entry, ...changes };
  return { ...all, signature: await by.signMessage({ message: accountText(ORIGIN, all) }) };
}

async function listOf(accounts: ListedAccount[], by = [own]): Promise<AnchorsList> {
  const list = { format: 'svc-anchors/1' as const, origin: ORIGIN, sequence: 3, accounts };
  const signatures: AnchorsList['signatures'] = [];
  for (const one of by) {
    const signature = await one.signMessage({ message: listText(list) });
    signatures.push({ address: one.address, signature });
  }
  return { ...list, signatures };
}

const [owned, keyed] = [await entryOf(own), await entryOf(second, promiseKey(serviceKey))];
const retired = await entryOf(own, { last_block: '9' });
const whole = await listOf([{ ...owned, ...promiseKey(otherKey) }, keyed], [own, second]);
const lists = {
  good: [
    { name: 'two accounts with promise keys', list: whole },
    { name: 'a retired account', list: await listOf([retired, keyed], [second]) },
    {
      name: 'an account that only the origin states',
      list: await listOf([{ ...owned, signature: null }]),
    },
  ],
  bad: [
    ['no signature', await listOf([owned], [])] as const,
    ['the signature of a retired account', await listOf([retired, keyed])] as const,
    ['the signature of an account that is not listed', await listOf([keyed])] as const,
    ['another sequence', { ...whole, sequence: 4 }] as const,
    ['an account twice', await listOf([owned, { ...owned, first_block: '2' }])] as const,
    [
      'an entry that another account signed',
      await listOf([{ ...owned, signature: keyed.signature }]),
    ] as const,
    [
      'a promise key with the kid of another key',
      await listOf([{ ...owned, ...promiseKey(serviceKey, otherKey.thumbprint) }]),
    ] as const,
    [
      'a promise key that the list was not signed with',
      { ...(await listOf([owned])), accounts: [{ ...owned, ...promiseKey(serviceKey) }] },
    ] as const,
  ].map(([name, list]) => ({ name, list })),
};

const signature = await privateKeyToAccount(owner.privateKey as `0x${string}`).signMessage({
  message: robotText,
});

/** The vectors, with the secret keys left out. */
export const vectors = {
  keys: {
    good: Object.entries(keys.good).map(([name, { jwk, alg, thumbprint }]) => ({
      name,
      key: jwk,
      alg,
      thumbprint,
    })),
    malformed: keys.malformed,
  },
  key_texts: { ...keyTexts, wallet, signature },
  content: [
    { content, hash: hash(canonicalJson(content)) },
    {
      content: { title: 'Weld', description: 'Seam 7', occurred_at: '2026-11-28T08:59:59.000Z' },
      hash: hash(
        '{"description":"Seam 7","expected_result":null,"occurred_at":"2026-11-28T08:59:59.000Z","title":"Weld"}',
      ),
    },
  ],
  statements,
  sequences,
  promises,
  lists,
  leaves,
};

if (import.meta.filename === process.argv[1])
  process.stdout.write(`${JSON.stringify(vectors, null, 2)}\n`);
