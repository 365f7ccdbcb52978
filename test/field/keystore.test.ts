// How wallets and other tools write keystores (Web3 Secret Storage, version 3) and key files.
import { createCipheriv, pbkdf2Sync, scryptSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { scrypt } from '@noble/hashes/scrypt.js';
import { keccak256 } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';

const KEY = '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d';
const SALT = 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19';

interface Opened {
  name: string;
  report: string;
  /** The text of the key file. */
  file: string | object;
  password: string;
  /** The private key, without its leading zeros. */
  key: string;
}

const opened: Opened[] = [
  {
    name: 'scrypt with r = 1 and n = 65536, which OpenSSL refuses',
    report: 'nodejs/node 29686, ApeWorX/eth-account 181, ApeWorX/eth-keyfile 39',
    file: keystore({ kdfparams: { n: 65_536, r: 1, p: 1 } }),
    password: 'secret',
    key: KEY,
  },
  {
    name: 'a key of 31 bytes that the address confirms',
    report: 'ethereum/go-ethereum accounts/keystore/testdata/v3_test_vector.json 31_byte_key',
    file: { ...bytes31(), address: addressOf(bytes31Key()) },
    password: 'foo',
    key: bytes31Key(),
  },
  {
    name: 'a key of 30 bytes that the address confirms',
    report: 'ethereum/go-ethereum accounts/keystore/testdata/v3_test_vector.json 30_byte_key',
    file: {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: '3ca92af36ad7c2cd92454c59cea5ef00' },
        ciphertext: '108b7d34f3442fc26ab1ab90ca91476ba6bfa8c00975a49ef9051dc675aa',
        kdf: 'scrypt',
        kdfparams: {
          dklen: 32,
          n: 2,
          r: 8,
          p: 1,
          salt: 'd0769e608fb86cda848065642a9c6fa046845c928175662b8e356c77f914cd3b',
        },
        mac: '75d0e6759f7b3cefa319c3be41680ab6beea7d8328653474bd06706d4cc67420',
      },
      address: addressOf('81c29e8142bb6a81bef5a92bda7a8328a5c85bb2f9542e76f9b0f94fc018'),
      version: 3,
    },
    password: 'foo',
    key: '81c29e8142bb6a81bef5a92bda7a8328a5c85bb2f9542e76f9b0f94fc018',
  },
  {
    name: 'an IV without its leading zero digits, where the address confirms the key',
    report: 'ApeWorX/eth-keyfile 61',
    file: keystore({
      iv: '00cc8c4fb3e60e5538e0cf1e27c23301',
      writtenIv: 'cc8c4fb3e60e5538e0cf1e27c23301',
    }),
    password: 'secret',
    key: KEY,
  },
  {
    name: 'an empty address, as wallets write that hide it',
    report: 'own case: a sibling of a missing address',
    file: keystore({ address: '' }),
    password: 'secret',
    key: KEY,
  },
  {
    name: 'hex members with the prefix 0x',
    report: 'own case: a sibling of the salt with this prefix, which is read',
    file: JSON.stringify(keystore()).replaceAll(/"(iv|ciphertext|mac)":"/g, '"$1":"0x'),
    password: 'secret',
    key: KEY,
  },
  {
    name: 'a hex key with the prefix 0X',
    report: 'own case: a sibling of the prefix 0x',
    file: `0X${KEY.toUpperCase()}\r\n`,
    password: '',
    key: KEY,
  },
];

interface Refused {
  name: string;
  report: string;
  file: string | object;
  password?: string;
  /** What the message says. */
  message: string;
}

const wrongPassword = 'the password is wrong.';
const beyond = 'its key derivation needs more memory or time than svc allows.';
const unknownKdf = 'its key derivation (KDF) is unknown.';

const refused: Refused[] = [
  {
    name: 'another password',
    report: 'own case: a typing error',
    file: keystore(),
    password: 'another',
    message: wrongPassword,
  },
  {
    name: 'an unknown KDF',
    report: 'own case: a sibling of scrypt and pbkdf2',
    file: keystore({ kdf: 'argon2id' }),
    message: unknownKdf,
  },
  {
    name: 'pbkdf2 with an unknown hash',
    report: 'NethermindEth/nethermind 9638',
    file: keystore({ kdf: 'pbkdf2', kdfparams: { c: 1000, prf: 'hmac-md5' } }),
    message: unknownKdf,
  },
  {
    name: 'scrypt with 2 GiB of memory',
    report: 'ApeWorX/web3.py 806',
    file: keystore({ claimed: { n: 2 ** 21, r: 8, p: 1 } }),
    message: beyond,
  },
  {
    name: 'scrypt with 2^26 blocks',
    report: 'own case: a sibling of too much memory',
    file: keystore({ claimed: { n: 2 ** 18, r: 8, p: 32 } }),
    message: beyond,
  },
  {
    name: 'pbkdf2 with 2^31 - 1 rounds',
    report: 'own case: a sibling of too much memory',
    file: keystore({ kdf: 'pbkdf2', claimed: { c: 2 ** 31 - 1, prf: 'hmac-sha256' } }),
    message: beyond,
  },
  {
    name: 'scrypt with an n that is no power of 2',
    report: 'own case: a damaged number',
    file: keystore({ claimed: { n: 1000, r: 8, p: 1 } }),
    message: 'the file is damaged: kdfparams.n is not a power of 2.',
  },
  {
    name: 'scrypt with the parameters of pbkdf2',
    report: 'MyEtherWallet/etherwallet 269',
    file: keystore({ claimed: { c: 262_144, prf: 1, r: 8, n: undefined, p: undefined } }),
    message: 'the file is damaged: kdfparams.n is missing or wrong.',
  },
  {
    name: 'a file that ends early',
    report: 'own case: a full disk',
    file: JSON.stringify(keystore()).slice(0, -20),
    message: 'the file is damaged: it is not JSON.',
  },
  {
    name: 'half a byte of ciphertext',
    report: 'own case: a damaged text',
    file: JSON.stringify(keystore()).replace('"ciphertext":"', '"ciphertext":"0'),
    message: 'the file is damaged: ciphertext is missing or wrong.',
  },
  {
    name: 'version 1',
    report: 'ethereum/go-ethereum accounts/keystore/testdata/v1_test_vector.json',
    file: { ...keystore(), version: '1' },
    message: 'only version 3 is supported.',
  },
  {
    name: 'the address of another key',
    report: 'own case: a keystore whose address was edited',
    file: keystore({ address: `${'0'.repeat(39)}1` }),
    message: 'the file is damaged: its address is not the address of its key.',
  },
  {
    name: 'a key of 31 bytes without an address',
    report: 'ethereum/go-ethereum accounts/keystore/testdata/v3_test_vector.json 31_byte_key',
    file: bytes31(),
    password: 'foo',
    message: 'the file is damaged: key or IV is too short, and no address confirms the key.',
  },
  {
    name: 'a key of 31 bytes with another address',
    report: 'own case: a keystore whose address was edited',
    file: { ...bytes31(), address: addressOf(KEY) },
    password: 'foo',
    message: 'the file is damaged: its address is not the address of its key.',
  },
  {
    name: 'a key of 29 bytes, although its address matches',
    report: 'own case: a keystore whose address was edited',
    file: keystore({ key: KEY.slice(6) }),
    message: 'the file is damaged: its key has 29 bytes.',
  },
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'keystore-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function load(file: string | object, password: string) {
  const [keyFile, passwordFile] = [path.join(folder, 'key'), path.join(folder, 'password')];
  const text = typeof file === 'string' ? file : JSON.stringify(file);
  await writeFile(keyFile, text, { mode: 0o600 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  return loadAnchorKey({ file: keyFile, passwordFile });
}

describe('a key file', () => {
  it.each(opened)('opens with $name', async ({ file, password, key }) => {
    expect((await load(file, password)).address).toBe(
      privateKeyToAddress(`0x${key.padStart(64, '0')}`),
    );
  });

  it.each(refused)('is refused with $name', async ({ file, password = 'secret', message }) => {
    await expect(load(file, password)).rejects.toMatchObject({
      code: 'invalid_anchor_key',
      message: `Cannot open the keystore SVC_ANCHOR_KEY_FILE ${folder}/key: ${message}`,
      hint: expect.stringMatching(/^[A-Z].*\.$/),
    });
  });
});

interface Written {
  key?: string;
  iv?: string;
  /** The IV as the file has it. */
  writtenIv?: string;
  address?: string;
  kdf?: string;
  kdfparams?: object;
  /** Parameters that the file claims, whatever the key was derived with. */
  claimed?: object;
}

/** A keystore with the password `secret`. */
function keystore(written: Written = {}) {
  const { key = KEY, iv = '83dbcc02d8ccb40e466191a123791e0e', kdf = 'scrypt' } = written;
  const { writtenIv = iv, address = addressOf(key), kdfparams = {}, claimed = {} } = written;
  const params = { n: 2, r: 8, p: 1, c: 1, ...kdfparams };
  const salt = Buffer.from(SALT, 'hex');
  const { n: N, r, p } = params;
  const derived =
    kdf === 'pbkdf2'
      ? pbkdf2Sync('secret', salt, params.c, 32, 'sha256')
      : r === 1
        ? Buffer.from(scrypt('secret', salt, { N, r, p, dkLen: 32 }))
        : scryptSync('secret', salt, 32, { N, r, p });
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), Buffer.from(iv, 'hex'));
  const ciphertext = cipher.update(Buffer.from(key, 'hex'));
  return {
    version: 3,
    address,
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: writtenIv },
      ciphertext: ciphertext.toString('hex'),
      kdf,
      kdfparams: { dklen: 32, salt: SALT, ...params, ...claimed },
      mac: keccak256(Buffer.concat([derived.subarray(16), ciphertext])).slice(2),
    },
  };
}

function bytes31Key(): string {
  return 'fa7b3db73dc7dfdf8c5fbdb796d741e4488628c41fc4febd9160a866ba0f35';
}

/** The vector as geth has it: without an address. */
function bytes31() {
  return {
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: 'e0c41130a323adc1446fc82f724bca2f' },
      ciphertext: '9517cd5bdbe69076f9bf5057248c6c050141e970efa36ce53692d5d59a3984',
      kdf: 'scrypt',
      kdfparams: {
        dklen: 32,
        n: 2,
        r: 8,
        p: 1,
        salt: '711f816911c92d649fb4c84b047915679933555030b3552c1212609b38208c63',
      },
      mac: 'd5e116151c6aa71470e67a7d42c9620c75c4d23229847dcc127794f0732b0db5',
    },
    version: 3,
  };
}

function addressOf(key: string): string {
  return privateKeyToAddress(`0x${key.padStart(64, '0')}`).slice(2);
}
