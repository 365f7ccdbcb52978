import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { beforeAll, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import type { JsonValue } from '../../src/proof/json-value.ts';
import { ArchiveAudit, type ArchiveReport } from '../../src/proof/statements/archive.ts';
import { type KeyGrant, kidOf } from '../../src/proof/statements/key-text.ts';
import { readStatement } from '../../src/proof/statements/statement.ts';
import { grantOf, newSigner, revocationOf, SigningRobot } from '../support/signing-robot.ts';

const ROBOT = '01900000-0000-7000-8000-00000000000a';
const account = privateKeyToAccount(generatePrivateKey());
const origin = 'https://svc.example.org';
const wallet = account.address.toLowerCase() as Hex;
const task = (n: number) => ({ id: `01900000-0000-7000-8000-0000000000${10 + n}`, title: 'Sort' });

const identity = {
  origin,
  wallet,
  robot_id: ROBOT,
  next_number: 1,
  last: null,
  keys: [],
};

/** A key with its line, and the robot that signs with it. */
async function newKey(changes: Partial<KeyGrant> = {}) {
  const signer = newSigner();
  const text = grantOf(identity, signer, changes);
  const line = {
    public_key: { ...signer.publicKey },
    text,
    signature: await account.signMessage({ message: text }),
    revocation: null as null | { text: string; signature: Hex },
  };
  return { line, robot: new SigningRobot(ROBOT, kidOf(text), signer, changes.first_number ?? 1) };
}

function lineOf(text: string) {
  const { statement, signedHash, statementHash } = readStatement(text);
  const hashes = { signed_hash: signedHash, statement_hash: statementHash };
  return { number: statement.number, ...hashes, statement: text as string | null };
}

type Line = ReturnType<typeof lineOf>;
const withheld = (line: Line): Line => ({ ...line, statement: null });

async function reportOf(
  lines: readonly object[],
  pins = { owner: wallet },
): Promise<ArchiveReport> {
  const audit = new ArchiveAudit(pins);
  await audit.add({ format: 'svc-statements/1', origin, wallet, robot_id: ROBOT });
  for (const line of lines) await audit.add(line as JsonValue);
  return audit.report();
}

let key: Awaited<ReturnType<typeof newKey>>;
let lines: Line[];
let revocation: { text: string; signature: Hex };
beforeAll(async () => {
  key = await newKey();
  const { robot } = key;
  lines = [1, 2].flatMap((n) => [
    lineOf(robot.claim(task(n))),
    lineOf(robot.result(task(n), { n }, n === 2 ? { outcome: 'failed' } : {})),
  ]);
  const last = { number: 4, signed_hash: lines[3]?.signed_hash as Hex };
  const text = revocationOf({ ...identity, keys: [{ kid: robot.kid }], last });
  revocation = { text, signature: await account.signMessage({ message: text }) };
});

it('is complete with every statement, and counts each one once', async () => {
  const { isSound, keys } = await reportOf([key.line, ...lines, ...lines.slice(3)]);

  expect(isSound).toBe(true);
  expect(keys).toMatchObject([
    {
      range: { first: 1, last: 4 },
      wallet_check: 'signed',
      outcomes: { succeeded: 1, failed: 1, aborted: 0 },
    },
  ]);
});

it.each<[string, object, (given: Line[]) => object[]]>([
  ['a missing statement', { missing: [{ first: 2, last: 2 }] }, (all) => all.toSpliced(1, 1)],
  ['a withheld statement', { withheld: 1 }, (all) => all.with(1, withheld(all[1] as Line))],
  [
    'a fork of which one text is withheld',
    { branches: [2], withheld: 1 },
    (all) =>
      all.toSpliced(2, 0, { ...withheld(all[1] as Line), signed_hash: `0x${'ab'.repeat(32)}` }),
  ],
  [
    'the statement of another task',
    { invalid: [2] },
    (all) => all.with(1, { ...(all[1] as Line), statement: all[3]?.statement ?? null }),
  ],
])('is not complete with %s', async (_, found, change) => {
  const { isSound, keys } = await reportOf([key.line, ...change(lines)]);

  expect(isSound).toBe(false);
  expect(keys).toMatchObject([found]);
});

it('has all statements that the owner stands by', async () => {
  const revoked = { ...key.line, revocation };

  expect(await reportOf([revoked, ...lines])).toMatchObject({ isSound: true });
  expect((await reportOf([revoked, ...lines.slice(0, 2)])).keys).toMatchObject([
    { isSound: false, missing: [{ first: 3, last: 4 }] },
  ]);
});

it('counts the tasks that were claimed and have no result', async () => {
  const counts = [
    (await reportOf([key.line, ...lines])).unfinished,
    (await reportOf([key.line, ...lines.slice(0, 3)])).unfinished,
  ];

  expect(counts).toEqual([0, 1]);
});

it('counts a statement after the revocation once', async () => {
  const last = { number: 2, signed_hash: lines[1]?.signed_hash as Hex };
  const text = revocationOf({ ...identity, keys: [{ kid: key.robot.kid }], last });
  const revoked = { text, signature: await account.signMessage({ message: text }) };
  const twice = lines.flatMap((line) => [line, line, withheld(line)]);

  const { keys } = await reportOf([{ ...key.line, revocation: revoked }, ...twice]);

  expect(keys).toMatchObject([{ after_revocation: 2, last_good: 2 }]);
});

it('begins with the first key at number 1, and continues with the next one', async () => {
  const late = await newKey({ first_number: 5 });
  const next = await newKey({ first_number: 5, predecessor: key.robot.kid });
  const after = [lineOf(next.robot.claim(task(5)))];

  expect((await reportOf([late.line])).faults).toHaveLength(1);
  expect(await reportOf([key.line, ...lines, next.line, ...after])).toMatchObject({
    isSound: true,
  });
  expect(
    (await reportOf([key.line, ...lines.slice(0, 3), next.line, ...after])).keys,
  ).toMatchObject([{ missing: [{ first: 4, last: 4 }] }, { isSound: true }]);
  expect(
    (await reportOf([key.line, ...lines, lineOf(key.robot.claim(task(6))), next.line])).faults,
  ).toHaveLength(1);
});

it('is that of the expected owner or key', async () => {
  const stranger = { ...key.line, signature: `0x${'11'.repeat(65)}` };
  const unused = await newKey({ first_number: 5, predecessor: key.robot.kid });
  const pinned = (robotKey: string) => ({ robotKey }) as never;
  const { keys } = await reportOf([key.line, ...lines, unused.line]);
  const [thumbprint, unusedOne] = keys.map((one) => one.thumbprint);

  expect((await reportOf([stranger, ...lines])).faults).toHaveLength(1);
  expect((await reportOf([stranger, ...lines], pinned(thumbprint ?? ''))).faults).toEqual([]);
  expect(
    (await reportOf([key.line, ...lines, unused.line], pinned(unusedOne ?? ''))).faults,
  ).toHaveLength(1);
});

it('is refused in another order', async () => {
  await expect(reportOf([key.line, ...lines.toReversed()])).rejects.toThrow(
    'order of their numbers',
  );
});
