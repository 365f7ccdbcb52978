import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, type TestContext } from 'vitest';
import type { Forgery } from './forged-bundles.ts';
import { needsProgram } from './require-program.ts';

/** The names of all checks and of the failed ones, in order; null if the document is refused. */
export type Verdict = {
  readonly names: readonly string[];
  readonly failed: readonly string[];
} | null;

const root = path.resolve(import.meta.dirname, '../..');

/** Runs Python code that has imported examples/verify.py, with a JSON value as input. Skips the test without Python. */
export function runPython<T>(context: TestContext, code: string, input: unknown): T {
  const python = needsProgram(context, 'python3');
  const head = `import base64, json, sys\nsys.path.insert(0, 'examples')\nimport verify\n`;
  const { stdout, stderr } = spawnSync(python, ['-B', '-c', head + code], {
    cwd: root,
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

/** The verdicts of examples/verify.py, in one process. */
export function pythonVerdicts(
  context: TestContext,
  cases: readonly Pick<Forgery, 'content' | 'blockHash'>[],
): Verdict[] {
  const code = `
def verdict(content, block_hash):
    try:
        bundle = verify.read_bundle(base64.b64decode(content), [])
    except verify.Refused:
        return None
    checks = list(verify.checks_of(bundle, verify.hex_bytes(block_hash)))
    return {"names": [name for name, _ in checks], "failed": [name for name, ok in checks if not ok]}

print(json.dumps([verdict(*each) for each in json.load(sys.stdin)]))
`;
  const input = cases.map(({ content, blockHash }) => [
    Buffer.from(content).toString('base64'),
    blockHash,
  ]);
  return runPython(context, code, input);
}
