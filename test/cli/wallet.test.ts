import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decryptKeystoreJson } from 'ethers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadAnchorKeys } from '../../src/chain/keys/anchor-key.ts';
import { readConfig } from '../../src/server/config.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startTestService, type TestService } from '../support/service.ts';

let root: string;
let folder: string;
let keystore: string;
let password: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'svc-wallet-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(async () => {
  folder = await mkdtemp(path.join(root, 'user-'));
  [keystore, password] = [path.join(folder, 'wallet.json'), path.join(folder, 'password')];
  await writeFile(password, 'correct horse\n', { mode: 0o600 });
});

const svc = (...args: string[]) =>
  runInProcess('svc', args, { env: { SVC_CONFIG_DIR: path.join(folder, 'config') } });
const create = (...more: string[]) =>
  svc('wallet', 'new', '--keystore', keystore, '--password-file', password, ...more);

describe('svc wallet new', () => {
  it('writes a keystore readable by its owner only, and warns what its loss means', async () => {
    const { exitCode, stdout, stderr } = await create();

    const [, address = ''] = /^address\t(0x\w{40})$/m.exec(stdout) ?? [];
    const text = await readFile(keystore, 'utf8');
    const opened = await decryptKeystoreJson(text, 'correct horse');
    expect([exitCode, stdout]).toEqual([0, `address\t${address}\nkeystore\t${keystore}\n`]);
    expect(opened.address).toBe(address);
    expect((await stat(keystore)).mode & 0o777).toBe(0o600);
    expect(stderr).toContain('If you lose the file or the password, the wallet is lost');
    expect(text + stdout + stderr).not.toContain(opened.privateKey.slice(2));
  });

  it('overwrites nothing, and follows no link', async () => {
    for (const place of ['a file', 'a link']) {
      await rm(keystore, { force: true });
      if (place === 'a file') await writeFile(keystore, 'kept');
      else await symlink(path.join(folder, 'target'), keystore);

      const { exitCode, stdout, stderr } = await create();

      expect([place, exitCode, stdout]).toEqual([place, 2, '']);
      expect(stderr).toBe(
        `svc: Cannot write --keystore ${keystore}: the file exists.\nChoose another path.\n`,
      );
    }
    expect((await readdir(folder)).sort()).toEqual(['password', 'wallet.json']);
  });

  it.each([
    ['without --keystore', [], 'Name the new file with --keystore.'],
    ['without a password', ['--keystore', 'FILE'], 'Cannot ask for an answer: Password'],
    [
      'in a folder that does not exist',
      ['--keystore', 'FILE/x', '--password-file', 'PASSWORD'],
      'there is no such folder',
    ],
    ['with an empty password', ['--keystore', 'FILE', '--password-file', 'EMPTY'], 'is empty'],
    [
      'with a password that others can read',
      ['--keystore', 'FILE', '--password-file', 'OPEN'],
      'can be read by others',
    ],
  ])('writes nothing %s', async (_, words, says) => {
    const [empty, open] = [path.join(folder, 'empty'), path.join(folder, 'open')];
    await writeFile(empty, '\n', { mode: 0o600 });
    await writeFile(open, 'correct horse', { mode: 0o644 });
    const files: Record<string, string> = {
      FILE: keystore,
      'FILE/x': path.join(keystore, 'x'),
      PASSWORD: password,
      EMPTY: empty,
      OPEN: open,
    };

    const given = words.map((word) => files[word] ?? word);
    const { exitCode, stdout, stderr } = await svc('wallet', 'new', ...given);

    expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(says)]);
    await expect(stat(keystore)).rejects.toThrow('ENOENT');
  });
});

describe('the keystore of svc wallet new', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('signs in with svc login --key-file', async () => {
    const { address } = JSON.parse((await create('--json')).stdout);

    const { exitCode, stdout } = await svc(
      ...['login', service.url, '--key-file', keystore, '--password-file', password],
    );

    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`wallet\t${address}\n`)]);
  });

  it('is accepted as an anchoring key by svc-server', async () => {
    const { address } = JSON.parse((await create('--json')).stdout);

    const { anchorKeys } = readConfig({
      SVC_ANCHOR_KEY_FILE: keystore,
      SVC_ANCHOR_KEY_PASSWORD_FILE: password,
    });

    expect(await loadAnchorKeys(anchorKeys)).toMatchObject([{ address }]);
  });
});
