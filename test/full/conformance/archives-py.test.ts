import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expect, it, onTestFinished } from 'vitest';
import type { Bundle } from '../../../src/proof/bundle.ts';
import { leafHash, statedAnchorOf } from '../../../src/proof/index.ts';
import type { JsonValue } from '../../../src/proof/json-value.ts';
import { ArchiveAudit } from '../../../src/proof/statements/archive.ts';
import { joinSignature } from '../../../src/proof/statements/jws.ts';
import { type KeyGrant, kidOf } from '../../../src/proof/statements/key-text.ts';
import { promiseText } from '../../../src/proof/statements/promise.ts';
import { readStatement } from '../../../src/proof/statements/statement.ts';
import {
  type AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../../src/protocol/anchoring-accounts.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { provenBundle } from '../../support/proven-bundle.ts';
import { runPython } from '../../support/python-verifier.ts';
import { needsProgram } from '../../support/require-program.ts';
import { grantOf, newSigner, revocationOf, SigningRobot } from '../../support/signing-robot.ts';
import { edwards, type Signer } from '../../support/statement-vectors.ts';

const ROBOT = '01900000-0000-7000-8000-00000000000a';
const origin = 'https://svc.example.org';

// Archives.

const account = privateKeyToAccount(generatePrivateKey());
const wallet = account.address.toLowerCase() as `0x${string}`;
const identity = { origin, wallet, robot_id: ROBOT, next_number: 1, last: null, keys: [] };
const task = (n: number) => ({ id: `01900000-0000-7000-8000-0000000000${10 + n}`, title: 'Sort' });
const signatureOf = (message: string) => account.signMessage({ message });

async function newKey(changes: Partial<KeyGrant> = {}) {
  const signer = newSigner(changes.algorithm);
  const text = grantOf(identity, signer, changes);
  const robot = new SigningRobot(ROBOT, kidOf(text), signer, changes.first_number ?? 1);
  const signature = await signatureOf(text);
  return { line: { public_key: signer.publicKey, text, signature, revocation: null }, robot };
}

function lineOf(text: string) {
  const { statement, signedHash, statementHash } = readStatement(text);
  const hashes = { signed_hash: signedHash, statement_hash: statementHash };
  return { number: statement.number, ...hashes, statement: text };
}

async function archives() {
  const { line: key, robot } = await newKey();
  const next = await newKey({ first_number: 5, predecessor: robot.kid, algorithm: 'ES256' });
  const late = await newKey({ first_number: 5 });
  const lines = [1, 2].flatMap((n) => [
    lineOf(robot.claim(task(n))),
    lineOf(robot.result(task(n), { n }, n === 2 ? { outcome: 'failed' } : {})),
  ]);
  const fork = lineOf(robot.again(() => robot.claim(task(3))));
  const epoch = '01900000-0000-7000-8000-0000000000e2';
  const branch = lineOf(robot.again(() => robot.claim(task(4)), { epoch }));
  const after = [1, 2].map((n) => lineOf(next.robot.claim(task(n))));
  const revoked = async (number: number) => {
    const last = { number, signed_hash: lines[number - 1]?.signed_hash as `0x${string}` };
    const text = revocationOf({ ...identity, keys: [{ kid: robot.kid }], last });
    return { ...key, revocation: { text, signature: await signatureOf(text) } };
  };
  const [one, , , four] = lines as [(typeof lines)[0], object, object, (typeof lines)[0]];
  const head = { format: 'svc-statements/1', origin, wallet, robot_id: ROBOT };
  const cases: [name: string, lines: object[], pins?: { owner?: string; robot_key?: string }][] = [
    ['a whole archive', [key, ...lines]],
    ['two keys', [key, ...lines, next.line, ...after]],
    ['statements twice', [key, one, one, ...lines.slice(1)]],
    ['a missing statement', [key, ...lines.toSpliced(1, 1)]],
    ['a missing statement before the next key', [key, ...lines.slice(0, 3), next.line, ...after]],
    ['a withheld statement', [key, { ...one, statement: null }, ...lines.slice(1)]],
    ['a fork', [key, ...lines, fork]],
    ['a branch', [key, ...lines, branch]],
    ['a withheld branch', [key, ...lines, { ...branch, statement: null }]],
    ['the statement of another number', [key, { ...one, number: 2 }, ...lines.slice(2)]],
    ['another hash', [key, { ...one, statement_hash: four.signed_hash }, ...lines.slice(1)]],
    ['statements of another key', [key, ...after]],
    ['a revocation of the last number', [await revoked(4), ...lines]],
    ['a revocation of an earlier number', [await revoked(2), ...lines]],
    ['a cut tail after a revocation', [await revoked(4), ...lines.slice(0, 2)]],
    ['a late first key', [late.line]],
    ['a second key that follows none', [key, ...lines, late.line]],
    ['the number of the next key', [key, ...lines, { ...next.line }, ...lines.slice(0, 1)]],
    ['no key', []],
    ['a statement before its key', [...lines, key]],
    ['statements in another order', [key, ...lines.toReversed()]],
    ['an unknown member', [{ ...key, note: 'Certified' }, ...lines]],
    ['another signature', [{ ...key, signature: '0x1234' }, ...lines]],
    ['the text of another key', [{ ...key, text: next.line.text }, ...lines]],
    ['the expected owner', [key, ...lines], { owner: account.address }],
    ['another owner', [key, ...lines], { owner: anvilAccounts[2].address }],
    ['the expected key', [key, ...lines], { robot_key: edwards(1).thumbprint }],
    ['an unchecked wallet', [{ ...key, signature: '0x' }, ...lines], { owner: wallet }],
  ];
  return cases.map(([name, rest, pins = {}]) => ({ name, lines: [head, ...rest], pins }));
}

it('examples/verify.py agrees on archives', async (context) => {
  const code = `
def verdict(case):
    lines = [verify.parse_strict(json.dumps(line)) for line in case["lines"]]
    try:
        report = verify.archive_report(lines, **case["pins"])
    except verify.Refused:
        return None
    return {"keys": report["keys"], "faults": len(report["faults"])}

print(json.dumps([verdict(case) for case in json.load(sys.stdin)]))
`;
  const cases = await archives();
  const found = runPython<unknown[]>(context, code, cases);
  for (const [i, { name, lines, pins }] of cases.entries()) {
    const audit = new ArchiveAudit({ owner: pins.owner, robotKey: pins.robot_key });
    let expected: unknown = null;
    try {
      for (const line of lines) await audit.add(line as JsonValue);
      const { keys, faults } = audit.report();
      expected = { keys: keys.map(({ isSound: _, ...key }) => key), faults: faults.length };
    } catch (error) {
      if ((error as Error).name !== 'DocumentError') throw error;
    }
    expect([name, found[i]]).toEqual([name, expected]);
  }
});

// Lists and promises.

const [own, second] = anvilAccounts.map(({ privateKey }) => privateKeyToAccount(privateKey)) as [
  typeof account,
  typeof account,
];
const key = edwards(4);

async function entryOf(by: typeof account, changes: Partial<ListedAccount> = {}) {
  const entry = { chain_id: 31337, address: by.address, first_block: '1', last_block: null };
  const all = { ...entry, ...changes };
  return { ...all, signature: await by.signMessage({ message: accountText(origin, all) }) };
}

async function listOf(accounts: ListedAccount[], by = [own], changes: object = {}) {
  const list = { format: 'svc-anchors/1' as const, origin, sequence: 3, accounts };
  const signatures = by.map(async (one) => {
    const signature = await one.signMessage({ message: listText(list) });
    return { address: one.address as string, signature: signature as string };
  });
  return { ...list, signatures: await Promise.all(signatures), ...changes } as AnchorsList;
}

const promiseKeyOf = ({ jwk, thumbprint }: Signer, kid = thumbprint) => ({
  promise_key: { kid, public_key: jwk as { kty: 'OKP'; crv: 'Ed25519'; x: string } },
});

/** A promise for the work in a bundle. */
function promiseOf(bundle: Bundle, changes: object = {}, by: Signer = key): string {
  const { anchored_at: time } = bundle.anchor;
  const leaf = leafHash(statedAnchorOf(bundle));
  const leaves = [{ task_id: bundle.task.id, created_at: time, leaf }];
  const promise = { origin, chain_id: 31337, accepted_at: time, anchored_by: time, leaves };
  const signed = promiseText({ alg: 'Ed25519', kid: key.thumbprint }, { ...promise, ...changes });
  return joinSignature(signed, by.sign(signed));
}

it('examples/verify.py is a program with the exit codes of svc', async (context) => {
  const python = needsProgram(context, 'python3');
  const folder = mkdtempSync(path.join(tmpdir(), 'verify-py-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = (name: string, content: unknown) => {
    const at = path.join(folder, name);
    writeFileSync(at, typeof content === 'string' ? content : JSON.stringify(content));
    return at;
  };
  const run = (...args: string[]) => {
    const all = ['-B', 'examples/verify.py', ...args];
    const { status, stdout } = spawnSync(python, all, { encoding: 'utf8' });
    return [status, stdout];
  };
  const archive = (name: string, at: number) => {
    const lines = cases[at]?.lines ?? [];
    return file(name, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  };
  const cases = await archives();
  const { bundle, blockHash } = provenBundle({ proofs: 3 });
  const list = file('list.json', await listOf([await entryOf(own, promiseKeyOf(key))]));
  const promise = (name: string, anchored_by: string) =>
    file(name, { promise: promiseOf(bundle, { anchored_by }) });
  const kept = [promise('kept.json', bundle.anchor.anchored_at), list];
  const late = [promise('late.json', '2020-01-01T00:00:00.000Z'), list];
  const shown = [file('bundle.json', bundle), blockHash];
  const named = ['--anchor-address', own.address];

  expect(run(archive('whole.jsonl', 0), '--owner', wallet)).toEqual([
    0,
    expect.stringContaining('none missing, none forked, 1 succeeded, 1 failed, 0 aborted'),
  ]);
  expect(run(archive('cut.jsonl', 3))).toEqual([11, expect.stringContaining('missing')]);
  expect(run(...kept, ...shown, ...named)).toEqual([0, expect.stringMatching(/^kept {7}task/m)]);
  expect(run(...kept, ...shown)[0]).toBe(9);
  expect(run(...kept, ...shown, '--anchor-address', second.address)[0]).toBe(3);
  expect(run(...kept, ...named)[0]).toBe(8);
  expect(run(...late, ...shown, ...named)[0]).toBe(14);
});

it('examples/verify.py checks promises with the list and bundles', async (context) => {
  const { bundle, blockHash } = provenBundle({ proofs: 3 });
  const leaf = leafHash(statedAnchorOf(bundle));
  const list = await listOf([await entryOf(own, promiseKeyOf(key))]);
  const early = await listOf(
    [await entryOf(own, { ...promiseKeyOf(key), last_block: '1' }), await entryOf(second)],
    [second],
  );
  const kept = { list, bundles: [[bundle, blockHash]] };
  const late = '2020-01-01T00:00:00.000Z';
  const cases: [name: string, given: object, expected: unknown][] = [
    ['in time', { ...kept, promise: promiseOf(bundle) }, [[], ['kept']]],
    ['late', { ...kept, promise: promiseOf(bundle, { anchored_by: late }) }, [[], ['kept_late']]],
    ['without a bundle', { list, bundles: [], promise: promiseOf(bundle) }, [[], ['not_shown']]],
    [
      'with another block hash',
      { list, bundles: [[bundle, leaf]], promise: promiseOf(bundle) },
      [[], ['not_shown']],
    ],
    [
      'after the last block',
      { ...kept, list: early, promise: promiseOf(bundle) },
      [[], ['not_shown']],
    ],
    [
      'of another key',
      { ...kept, promise: promiseOf(bundle, {}, edwards(5)) },
      [['promise_signature'], ['kept']],
    ],
    [
      'of another chain',
      { ...kept, promise: promiseOf(bundle, { chain_id: 1 }) },
      [['promise_key', 'promise_signature'], ['not_shown']],
    ],
    [
      'of another origin',
      { ...kept, promise: promiseOf(bundle, { origin: 'https://other.example' }) },
      [['origin'], ['kept']],
    ],
  ];
  const code = `
def verdict(case):
    promise = verify.promise_in(case["promise"].encode())
    accounts = verify.parse_strict(json.dumps(case["list"]))
    anchored = [(verify.read_bundle(json.dumps(each).encode(), []), verify.hex_bytes(at)) for each, at in case["bundles"]]
    failed = [name for name, passed in verify.promise_checks(promise, accounts) if not passed]
    return [failed, list(verify.kept_leaves(promise, accounts, anchored))]

print(json.dumps([verdict(case) for case in json.load(sys.stdin)]))
`;
  const found = runPython<unknown[]>(
    context,
    code,
    cases.map(([, given]) => given),
  );

  expect(cases.map(([name], i) => [name, found[i]])).toEqual(
    cases.map(([name, , expected]) => [name, expected]),
  );
});
