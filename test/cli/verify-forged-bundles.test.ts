import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { batch, forgeries, single } from '../support/forged-bundles.ts';
import { runInProcess } from '../support/run-in-process.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-forged-bundles-'));
  await Promise.all(forgeries.map(({ content }, i) => writeFile(fileOf(i), content)));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function fileOf(index: number): string {
  return path.join(folder, `${index}.json`);
}

/** Runs `svc verify` with nothing but the block hash and the address of the account that signed. */
async function verify(file: string, blockHash: Hex) {
  const identity = ['--anchor-address', anvilAccounts[0].address];
  const args = ['verify', file, '--block-hash', blockHash, ...identity, '--json'];
  return runInProcess('svc', args, { env: { SVC_CONFIG_DIR: folder, HOME: folder } });
}

describe('svc verify --block-hash', () => {
  it.each([
    ['alone', single],
    ['in a batch', batch],
  ])('exits 0 for evidence anchored %s', async (_, { bundle, blockHash }) => {
    const file = path.join(folder, 'honest.json');
    await writeFile(file, JSON.stringify(bundle));

    expect((await verify(file, blockHash)).exitCode).toBe(0);
  });

  it.each(forgeries.map((forgery, i) => ({ ...forgery, i })))(
    'does not accept $name',
    async ({ i, blockHash, failed, exitCode: expected }) => {
      const { exitCode, stdout } = await verify(fileOf(i), blockHash);

      expect(exitCode).toBe(expected);
      if (failed === null) {
        expect(stdout).not.toContain('verified');
        return;
      }
      const checks: { name: string; status: string }[] = JSON.parse(stdout).checks;
      expect(JSON.parse(stdout).verified).toBe(false);
      expect(checks.filter(({ status }) => status === 'failed').map(({ name }) => name)).toEqual(
        failed,
      );
    },
  );
});
