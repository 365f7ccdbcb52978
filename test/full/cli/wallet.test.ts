import { readFile } from 'node:fs/promises';
import { decryptKeystoreJson } from 'ethers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';

let user: SvcUser;
beforeEach(async () => {
  user = await createSvcUser('http://127.0.0.1:9');
});
afterEach(() => user.remove());

const create = (again: string) =>
  user.inTerminal(['wallet', 'new', '--keystore', user.file('wallet.json')], {
    typed: [
      ['Password for the new wallet: ', 'correct horse\r'],
      ['The same password again: ', `${again}\r`],
    ],
  });

describe('svc wallet new in a terminal', () => {
  it('asks twice for the password, without showing it', async () => {
    const { exitCode, screen } = await create('correct horse');

    const text = await readFile(user.file('wallet.json'), 'utf8');
    const { address } = await decryptKeystoreJson(text, 'correct horse');
    expect([exitCode, screen]).toEqual([0, expect.stringContaining(address)]);
    expect(screen).not.toContain('horse');
  });

  it('writes no file if the passwords differ', async () => {
    const { exitCode, screen } = await create('correct house');

    expect([exitCode, screen]).toEqual([2, expect.stringContaining('The passwords differ')]);
    await expect(readFile(user.file('wallet.json'))).rejects.toThrow('ENOENT');
  });
});
