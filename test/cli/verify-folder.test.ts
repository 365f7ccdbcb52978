import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Bundle } from '../../src/proof/bundle.ts';
import { kidOf } from '../../src/proof/statements/key-text.ts';
import { readStatement } from '../../src/proof/statements/statement.ts';
import { OTHER, otherKey, owner, robotKey, signedBundle } from '../support/signed-bundles.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';

/** Statements 1 and 2, and 3 and 4. */
let first: Bundle;
let second: Bundle;
let user: SvcUser;
let folder: string;

beforeAll(async () => {
  user = await createSvcUser('http://127.0.0.1:9');
  folder = user.file('folder');
  first = await numbered(1, null);
  second = await numbered(3, readStatement(signingOf(first).result.statement).signedHash);
});
afterAll(() => user.remove());
beforeEach(async () => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
});

async function numbered(number: number, prev: string | null, changes: object = {}) {
  const bundle = await signedBundle({
    claim: { number, prev, ...changes },
    result: { number: number + 1, ...changes },
  });
  return bundle as unknown as Bundle;
}

function signingOf({ signing }: Bundle) {
  if (signing === undefined) throw new Error('The bundle is not signed');
  return signing;
}

/** The archive that has the statements of a bundle; of those with `hidden` numbers, only the hashes. */
function archiveOf(bundle: Bundle, hidden: readonly number[] = []): string {
  const { key, claim, result } = signingOf(bundle);
  const { text, signature, public_key } = key;
  const lines: object[] = [
    { format: 'svc-statements/1', ...{ origin: 'https://svc.example.org', wallet: owner } },
    { public_key, text, signature, revocation: null },
  ];
  Object.assign(lines[0] ?? {}, { robot_id: bundle.task.robot_id });
  for (const { statement } of claim === null ? [result] : [claim, result]) {
    const read = readStatement(statement);
    const hashes = { signed_hash: read.signedHash, statement_hash: read.statementHash };
    const { number } = read.statement;
    lines.push({ number, ...hashes, statement: hidden.includes(number) ? null : statement });
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

async function verify(files: Record<string, unknown>, ...args: string[]) {
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(path.join(folder, name), text);
  }
  const { exitCode, stdout, stderr } = await user.svc(['verify', folder, ...args]);
  return { exitCode, stdout, stderr };
}

it('gives one verdict about archives and bundles, in any order', async () => {
  const files = {
    'b.json': first,
    'a.jsonl': archiveOf(second),
    'evidence.json': { picked: 12 },
    'notes.txt': 'Monday',
  };

  const { exitCode, stdout } = await verify(files, '--owner', owner);
  const unpinned = await verify(files);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^COMPLETE\n/);
  expect(stdout).toContain(
    `1 to 4 of key ${robotKey.thumbprint}: none missing, none forked, 2 succeeded, 0 failed, 0 aborted; what came after 4 cannot be shown yet.`,
  );
  // Of an archive that only names its own owner, nothing is said to be complete.
  expect(unpinned).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^NOT pinned\n/) });
  expect(unpinned.stdout).not.toContain('none missing');
});

it('gives the verdict of an archive with two keys', async () => {
  const predecessor = kidOf(signingOf(first).key.text);
  const next = await signedBundle({
    signer: otherKey,
    grant: { first_number: 3, predecessor },
    claim: { number: 3 },
    result: { number: 4 },
  });
  const [, ...lines] = archiveOf(next as unknown as Bundle).split(/(?<=\n)/);
  const archive = `${archiveOf(first)}${lines.join('')}`;

  const inFolder = await verify({ 'a.jsonl': archive }, '--owner', owner);
  const alone = await user.svc(['verify', path.join(folder, 'a.jsonl'), '--owner', owner]);

  expect(inFolder).toEqual({ exitCode: 0, stdout: alone.stdout, stderr: alone.stderr });
  expect(alone.stdout).toContain(`3 to 4 of key ${otherKey.thumbprint}: none missing`);
});

it('ends with what is not proven', async () => {
  const { stdout } = await verify({ 'a.jsonl': archiveOf(first) });

  expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
    expect.stringMatching(/^Not proven: .* Their anchors were not checked/),
    'Not proven: that no statement exists after the last number.',
  ]);
});

it('says how many tasks were claimed without a result', async () => {
  const withoutResult = archiveOf(first).split('\n').slice(0, 3).join('\n');

  const { stdout } = await verify({ 'a.jsonl': withoutResult });

  expect(stdout).toContain('\n1 claimed without a result.\n');
});

it('reads an archive from standard input', async () => {
  const [complete, cut] = [
    await user.svc(['verify', '-', '--owner', owner], { input: archiveOf(first) }),
    await user.svc(['verify', '-'], { input: archiveOf(first).slice(0, -9) }),
  ];

  expect([complete.exitCode, complete.stdout]).toEqual([0, expect.stringMatching(/^COMPLETE\n/)]);
  expect(cut).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('of standard input') });
});

it('counts a statement once that several files have', async () => {
  const { exitCode, stdout } = await verify({
    'a.jsonl': archiveOf(first),
    'b.json': first,
    'c.json': first,
  });

  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('1 succeeded')]);
});

it('shows a statement that a later archive withholds', async () => {
  const { exitCode } = await verify({ 'a.jsonl': archiveOf(first, [1, 2]), 'b.json': first });

  expect(exitCode).toBe(0);
});

it('reports what is missing', async () => {
  const { exitCode, stdout } = await verify({ 'b.json': second });

  expect([exitCode, stdout]).toEqual([11, expect.stringContaining('missing: 1 to 2')]);
});

it('reports a fork between two files', async () => {
  const other = await numbered(1, null, { clock_synchronized: false });

  const { exitCode, stdout } = await verify({ 'a.jsonl': archiveOf(first), 'b.json': other });

  expect([exitCode, stdout]).toEqual([12, expect.stringContaining('forked: 1, 2')]);
});

it('reports a bundle that does not hold', async () => {
  const claim = { ...first.claim, title: 'Sort letters' };

  const { exitCode, stdout } = await verify({ 'a.json': { ...first, claim } });

  expect(exitCode).toBe(3);
  expect(stdout).toContain('a.json: ');
  expect(stdout).toContain('The claim is of another task, robot or content');
});

it('reports a bundle of another robot', async () => {
  const other = await signedBundle({ grant: { robot_id: OTHER } });

  const { exitCode } = await verify({ 'a.json': first, 'b.json': other });

  expect(exitCode).toBe(3);
});

it('refuses unsigned work only if a signer is expected', async () => {
  const { signing: _, ...unsigned } = await signedBundle({ unsignedLeaf: true });
  const files = { 'a.json': first, 'b.json': { ...unsigned, format: 'svc-bundle/2' } };

  const codes = [
    (await verify(files)).exitCode,
    (await verify(files, '--robot-key', robotKey.thumbprint)).exitCode,
  ];

  expect(codes).toEqual([0, 3]);
});

it('names a folder without statements as such', async () => {
  const { exitCode, stderr } = await verify({ 'evidence.json': {} });

  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('no archive and no bundle')]);
});

it.each([
  ['--anchor-address', owner],
  ['--block-hash', `0x${'1'.repeat(64)}`],
  ['--require-files'],
])('refuses %s, which does not apply', async (option, ...value) => {
  const { exitCode, stderr } = await verify({ 'b.json': first }, option, ...value);

  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringContaining(`${option} does not apply to statements.`),
  ]);
});
