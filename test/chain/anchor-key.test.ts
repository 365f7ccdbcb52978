import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encryptKeystoreJson } from 'ethers';
import { parseTransaction, recoverTransactionAddress } from 'viem';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gasLimitOf, loadAnchorKey, loadAnchorKeys } from '../../src/chain/keys/anchor-key.ts';
import { anvilAccounts } from '../support/anvil.ts';

const { address, privateKey } = anvilAccounts[0];
const digits = privateKey.slice(2);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'anchor-key-'));
});

afterEach(() => {
  vi.unstubAllEnvs();
  return rm(folder, { recursive: true });
});

async function file(name: string, content: string): Promise<string> {
  const target = path.join(folder, name);
  await writeFile(target, content, { mode: 0o600 });
  return target;
}

describe('loadAnchorKey', () => {
  it.each([
    ['with a prefix', privateKey],
    ['without one', digits],
  ])('accepts a hex key %s', async (_what, text) => {
    expect((await loadAnchorKey({ privateKey: text })).address).toBe(address);
  });

  it('reads a hex key from a file', async () => {
    const key = await loadAnchorKey({ file: await file('key', `${privateKey}\n`) });

    expect(key.address).toBe(address);
  });

  it('opens a V3 keystore with its password file', async () => {
    const keystore = await encryptKeystoreJson({ address, privateKey }, 'pass word', {
      scrypt: { N: 1024 },
    });

    const key = await loadAnchorKey({
      file: await file('keystore.json', keystore),
      passwordFile: await file('password', 'pass word\n'),
    });

    expect(key.address).toBe(address);
  });

  // A test vector of the Web3 Secret Storage Definition.
  it("opens the standard's keystore with pbkdf2", async () => {
    const crypto = {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
      ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
      kdf: 'pbkdf2',
      kdfparams: {
        c: 262_144,
        dklen: 32,
        prf: 'hmac-sha256',
        salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
      },
      mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
    };

    const key = await loadAnchorKey({
      file: await file('keystore.json', JSON.stringify({ crypto, version: 3 })),
      passwordFile: await file('password', 'testpassword'),
    });

    expect(key.address).toBe('0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b');
  });

  it('opens a keystore whose password was normalized when it was created', async () => {
    const keystore = await encryptKeystoreJson({ address, privateKey }, 'pass² word…', {
      scrypt: { N: 1024 },
    });

    const key = await loadAnchorKey({
      file: await file('keystore.json', keystore),
      passwordFile: await file('password', 'pass² word…'),
    });

    expect(key.address).toBe(address);
  });

  it.each([
    ['an altered IV', (keystore: string) => withOtherDigit(keystore, '"iv":"')],
    ['the address of another key', (keystore: string) => withOtherDigit(keystore, '"address":"')],
    ['another cipher', (keystore: string) => keystore.replace('aes-128-ctr', 'aes-128-cbc')],
  ])('refuses a keystore with %s', async (_, alter) => {
    const keystore = await encryptKeystoreJson({ address, privateKey }, 'right', {
      scrypt: { N: 1024 },
    });

    const loading = loadAnchorKey({
      file: await file('keystore.json', alter(keystore)),
      passwordFile: await file('password', 'right'),
    });

    await expect(loading).rejects.toMatchObject({ code: 'invalid_anchor_key' });
  });

  it('names the files of a keystore that does not open, and shows none of their content', async () => {
    const keystore = await encryptKeystoreJson({ address, privateKey }, 'right', {
      scrypt: { N: 1024 },
    });
    const source = {
      file: await file('keystore.json', keystore),
      passwordFile: await file('password', 'wrongpassword'),
    };

    const error = await loadAnchorKey(source).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'invalid_anchor_key' });
    expect(String(error)).toContain(source.file);
    expect(String(error)).not.toContain('wrongpassword');
  });

  it('says which file cannot be read', async () => {
    const missing = path.join(folder, 'missing');

    await expect(loadAnchorKey({ file: missing })).rejects.toThrow(
      `Cannot read SVC_ANCHOR_KEY_FILE ${missing}: there is no such file.`,
    );
  });

  it.each([0o640, 0o604, 0o622])('refuses a key file of mode %o', async (mode) => {
    const key = await file('key', privateKey);
    await chmod(key, mode);

    await expect(loadAnchorKey({ file: key })).rejects.toMatchObject({
      code: 'invalid_anchor_key',
      message: `SVC_ANCHOR_KEY_FILE ${key} can be read by others (mode ${mode.toString(8)}).`,
      hint: expect.stringContaining(`chmod 600 ${key}`),
    });
  });

  it('refuses a password file that others can read', async () => {
    const keystore = await encryptKeystoreJson({ address, privateKey }, 'right', {
      scrypt: { N: 1024 },
    });
    const source = { file: await file('key', keystore), passwordFile: await file('p', 'right') };
    await chmod(source.passwordFile, 0o644);

    await expect(loadAnchorKey(source)).rejects.toThrow(
      `SVC_ANCHOR_KEY_PASSWORD_FILE ${source.passwordFile} can be read by others (mode 644).`,
    );
  });

  it('does not check the permissions of systemd credentials', async () => {
    const key = await file('key', privateKey);
    await chmod(key, 0o440);
    vi.stubEnv('CREDENTIALS_DIRECTORY', folder);

    expect((await loadAnchorKey({ file: key })).address).toBe(address);
    vi.stubEnv('CREDENTIALS_DIRECTORY', `${folder}/k`);
    await expect(loadAnchorKey({ file: key })).rejects.toThrow('can be read by others');
  });

  it.each([
    ['a key that is too short', digits.slice(1)],
    ['text', 'not a key'],
    ['a key beyond the order of the curve', 'f'.repeat(64)],
    ['the zero key', '0'.repeat(64)],
  ])('refuses %s without quoting it', async (_what, text) => {
    const source = { file: await file('key', text) };

    const error = await loadAnchorKey(source).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'invalid_anchor_key' });
    expect(String(error)).toContain(source.file);
    expect(`${String(error)}${(error as Error).stack}`).not.toContain(text);
  });
});

describe('signTransaction', () => {
  it('creates an EIP-1559 transfer of 0 from the account to itself', async () => {
    const key = await loadAnchorKey({ privateKey });
    const payload = `0x${'5a'.repeat(42)}` as const;

    const { rawTx } = await key.signTransaction({
      chainId: 5,
      nonce: 7,
      payload,
      gas: 30_000n,
      maxFeePerGas: 20n,
      maxPriorityFeePerGas: 2n,
    });

    const transaction = parseTransaction(rawTx);
    expect(transaction).toMatchObject({
      type: 'eip1559',
      chainId: 5,
      nonce: 7,
      data: payload,
      gas: 30_000n,
      maxFeePerGas: 20n,
      maxPriorityFeePerGas: 2n,
      to: address.toLowerCase(),
    });
    expect(transaction.value ?? 0n).toBe(0n);
    expect(
      await recoverTransactionAddress({ serializedTransaction: rawTx as `0x02${string}` }),
    ).toBe(address);
  });
});

describe('a replacement', () => {
  it('differs from the transaction only in gas limit and fees', async () => {
    const key = await loadAnchorKey({ privateKey });
    const anchor = { chainId: 31337, nonce: 0, payload: '0x52545041' as const, gas: 30_000n };
    const first = await key.signTransaction({
      ...anchor,
      maxFeePerGas: 20n,
      maxPriorityFeePerGas: 2n,
    });
    const terms = { gas: 40_000n, maxFeePerGas: 40n, maxPriorityFeePerGas: 3n };

    const second = await key.signReplacement(first.rawTx, terms);

    const { r: _r, s: _s, v: _v, yParity: _y, ...before } = parseTransaction(first.rawTx);
    expect(parseTransaction(second.rawTx)).toMatchObject({ ...before, ...terms });
    expect(second.txHash).not.toBe(first.txHash);
    expect(gasLimitOf(second.rawTx)).toBe(40_000n);
  });
});

describe('loadAnchorKeys', () => {
  it('refuses the same account twice', async () => {
    const sources = [{ privateKey }, { privateKey: digits }];

    await expect(loadAnchorKeys(sources)).rejects.toMatchObject({
      code: 'invalid_anchor_key',
      message: `The anchoring key of ${address} is configured twice.`,
    });
  });
});

/** Replaces the hex digit behind `start` by another one. */
function withOtherDigit(text: string, start: string): string {
  const at = text.indexOf(start) + start.length;
  const other = text[at] === '0' ? '1' : '0';
  return `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
}
