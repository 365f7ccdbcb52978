import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../../src/proof/bytes.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { forgeries } from '../../support/forged-bundles.ts';
import { runPython } from '../../support/python-verifier.ts';
import { runInProcess } from '../../support/run-in-process.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-forged-bundles-'));
  await Promise.all(forgeries.map(({ content }, i) => writeFile(fileOf(i), content)));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function fileOf(index: number): string {
  return path.join(folder, `${index}.json`);
}

const identity = ['--anchor-address', anvilAccounts[0].address];

/** Runs `svc verify` with nothing but the block hash and the address of the account that signed. */
async function verify(file: string, blockHash: Hex) {
  const args = ['verify', file, '--block-hash', blockHash, ...identity, '--json'];
  return runInProcess('svc', args, { env: { SVC_CONFIG_DIR: folder, HOME: folder } });
}

describe('svc verify --block-hash', () => {
  it('has the exit codes of examples/verify.py for every forgery', async (context) => {
    const code = `
import contextlib, os
with contextlib.redirect_stdout(None), contextlib.redirect_stderr(open(os.devnull, "w")):
    codes = [verify.main(arguments) for arguments in json.load(sys.stdin)]
print(json.dumps(codes))
`;
    const codes = runPython<number[]>(
      context,
      code,
      forgeries.map(({ blockHash }, i) => [fileOf(i), blockHash, ...identity]),
    );

    for (const [i, { name, blockHash }] of forgeries.entries()) {
      const { exitCode } = await verify(fileOf(i), blockHash);
      expect([name, exitCode]).toEqual([name, codes[i]]);
    }
  });
});
