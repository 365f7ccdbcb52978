// Keystores whose key derivation takes seconds.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { privateKeyToAddress } from 'viem/accounts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadAnchorKey } from '../../../src/chain/keys/anchor-key.ts';

interface Row {
  name: string;
  report: string;
  crypto: object;
  password: string;
  key: `0x${string}`;
}

const scrypt = {
  cipher: 'aes-128-ctr',
  cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
  ciphertext: 'd172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c',
  kdf: 'scrypt',
  kdfparams: {
    dklen: 32,
    n: 262_144,
    r: 1,
    p: 8,
    salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19',
  },
  mac: '2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097',
};

const rows: Row[] = [
  {
    name: "the standard's scrypt vector (n = 262144, r = 1, p = 8)",
    report:
      'ethereum/go-ethereum accounts/keystore/testdata/v3_test_vector.json, ethereum/tests KeyStoreTests/basic_tests.json test2',
    crypto: scrypt,
    password: 'testpassword',
    key: '0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d',
  },
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'keystore-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function load(crypto: object, password: string) {
  const [file, passwordFile] = [path.join(folder, 'key'), path.join(folder, 'password')];
  await writeFile(file, JSON.stringify({ crypto, version: 3 }), { mode: 0o600 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  return loadAnchorKey({ file, passwordFile });
}

it.each(rows)('opens $name off the event loop', async ({ crypto, password, key }) => {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();

  const { address } = await load(crypto, password);

  delay.disable();
  expect(address).toBe(privateKeyToAddress(key));
  // Timers ran while the key was derived.
  expect(delay.count).toBeGreaterThan(10);
});

it.each(rows)('reports a wrong password: $name', async ({ crypto }) => {
  await expect(load(crypto, 'another')).rejects.toMatchObject({
    message: expect.stringMatching(/: the password is wrong\.$/),
  });
});
