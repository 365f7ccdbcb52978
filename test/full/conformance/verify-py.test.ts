import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import signed from '../../fixtures/signed-bundles.json' with { type: 'json' };
import statements from '../../fixtures/statements.json' with { type: 'json' };
import vectors from '../../fixtures/vectors.json' with { type: 'json' };
import { anvilAccounts } from '../../support/anvil.ts';
import { batch, changed, forgeries, single } from '../../support/forged-bundles.ts';
import { caseOf, honest, published, rounded, verdictOf } from '../../support/honest-bundles.ts';
import { pythonVerdicts, runPython, type Verdict } from '../../support/python-verifier.ts';
import { needsProgram } from '../../support/require-program.ts';

const program = path.resolve(import.meta.dirname, '../../../examples/verify.py');

describe('examples/verify.py', () => {
  it('agrees with auditChainProof on every bundle', (context) => {
    const cases = [...honest.map(([, proven]) => caseOf(proven)), rounded, published];

    expect(pythonVerdicts(context, cases)).toEqual(cases.map(verdictOf));
  });

  it('agrees with auditChainProof on every forgery', (context) => {
    const named = (verdicts: Verdict[]) =>
      forgeries.map(({ name }, i) => [name, verdicts[i]?.failed ?? null]);

    expect(named(pythonVerdicts(context, forgeries))).toEqual(named(forgeries.map(verdictOf)));
  });

  it('hashes evidence and refuses JSON as the test vectors say', (context) => {
    const code = `
def canonical(text):
    try:
        return verify.canonical(verify.parse_strict(text))
    except verify.Refused:
        return None

verify.MAX_DEPTH = 128
print(json.dumps([canonical(text) for text in json.load(sys.stdin)]))
`;
    const { proofs, refused } = vectors;
    const texts = [...proofs, ...refused].map(({ text }) => text);

    expect(runPython(context, code, texts)).toEqual([
      ...proofs.map(({ canonical }) => canonical),
      ...refused.map(() => null),
    ]);
  });

  it('exits with 0 if every check passed, 3 if not, 2 if it cannot verify, and 9 if no account is named', (context) => {
    const python = needsProgram(context, 'python3');
    const folder = mkdtempSync(path.join(tmpdir(), 'verify-'));
    const run = (content: string, ...hashes: string[]) => {
      const file = path.join(folder, 'bundle.json');
      writeFileSync(file, content);
      const { status, stdout } = spawnSync(python, ['-B', program, file, ...hashes]);
      return [status, String(stdout).split('\n').at(-2) ?? ''];
    };
    const { chain_proof: _, ...rest } = single.bundle;
    const content = JSON.stringify(single.bundle);
    const [account, stranger] = anvilAccounts.map(({ address }) => ['--anchor-address', address]);
    const named = (...addresses: (string[] | undefined)[]) =>
      run(content, single.blockHash, ...addresses.flatMap((one) => one ?? []));

    expect(named(account)).toEqual([0, 'As final as the block whose hash you gave.']);
    expect(named(stranger, account)).toEqual([0, 'As final as the block whose hash you gave.']);
    expect(named(stranger)).toEqual([3, 'Not verified']);
    expect(named(['--anchor-address', '0x12'])).toEqual([2, '']);
    expect(named()).toEqual([9, 'Name the account that you expect with --anchor-address.']);
    expect(run(content, batch.blockHash)).toEqual([3, 'Not verified']);
    expect(run(changed(single, 'note', 'Certified'), single.blockHash)).toEqual([
      3,
      "Not verified: 'note' is not a member of a bundle",
    ]);
    const { bundle } = signed;
    const pinned = (...pins: string[]) =>
      run(JSON.stringify(bundle), bundle.anchor.block_hash, ...(account ?? []), ...pins)[0];
    const [thumbprint, another] = statements.keys.good.map((key) => key.thumbprint);
    expect(pinned('--robot-key', String(thumbprint))).toBe(0);
    expect(pinned('--robot-key', String(another))).toBe(3);
    expect(pinned('--owner', bundle.anchor.from)).toBe(3);
    expect(pinned('--robot-key', '0x12')).toBe(2);
    expect(run('{}', single.blockHash)).toEqual([2, '']);
    expect(run(JSON.stringify({ ...rest, format: 'svc-bundle/1' }), single.blockHash)).toEqual([
      2,
      '',
    ]);
    expect(run(content)).toEqual([2, '']);
    expect(run(content, 'latest')).toEqual([2, '']);
    rmSync(folder, { recursive: true });
  });
});
