// Reads Web3 Secret Storage keystores (version 3), as wallets and other tools write them, and creates new ones.
import { createDecipheriv, pbkdf2, randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { encrypt } from 'ox/Keystore';
import { keccak256 } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { bytesToHex, type Hex } from '../../proof/bytes.ts';

/** Why a keystore does not open. The message ends a sentence, and quotes nothing of file and password. */
export class KeystoreError extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** Memory of scrypt for one key, in bytes. Keystores of geth need 256 MiB. */
const MAX_SCRYPT_BYTES = 2 ** 30;
/** Blocks of scrypt (n * r * p), and rounds of pbkdf2: at most about a minute. Keystores of geth need 2^21. */
const MAX_WORK = 2 ** 25;

const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

type Members = Readonly<Record<string, unknown>>;

/** Resolves with the private key, 32 bytes. Rejects with KeystoreError. Derives keys off the event loop. */
export async function decryptKeystore(text: string, password: string): Promise<Hex> {
  const { version = 3, address, ...keystore } = parse(text);
  if (Number(version) !== 3) {
    throw new KeystoreError('only version 3 is supported', 'Export the key again, as version 3.');
  }
  // ethers and early wallets write this member with a capital letter.
  const crypto = membersOf(keystore.crypto ?? keystore.Crypto, 'crypto');
  if (crypto.cipher !== 'aes-128-ctr') {
    throw new KeystoreError('its cipher is unknown', 'Export the key again, with aes-128-ctr.');
  }
  // eth-keyfile leaves out leading zeros of the IV.
  const iv = membersOf(crypto.cipherparams, 'cipherparams').iv;
  const digits = typeof iv === 'string' ? iv.replace(/^0x/, '') : '';
  const sealed: Sealed = {
    ciphertext: bytesOf(crypto.ciphertext, 'ciphertext'),
    iv: bytesOf(digits.padStart(digits === '' ? 0 : 32, '0'), 'iv', 16),
    isShort: digits.length < 32,
    address: typeof address === 'string' && address !== '' ? address : null,
  };
  const mac = bytesToHex(bytesOf(crypto.mac, 'mac', 32));
  const derive = derivationOf(crypto);
  // ethers encrypts with the normalized password, geth with the password as it was typed.
  for (const typed of new Set([password, password.normalize('NFKC')])) {
    const derived = await derive(typed).catch(() => Promise.reject(derivationFailed()));
    const found = keccak256(Buffer.concat([derived.subarray(16), sealed.ciphertext]));
    if (found === mac) return keyOf(derived.subarray(0, 16), sealed);
  }
  const hint = 'Check the password; if it is right, the file is damaged.';
  throw new KeystoreError('the password is wrong', hint);
}

/** The cost of geth and of most wallets: 256 MiB, and about a second. */
const SCRYPT = { n: 2 ** 18, r: 8, p: 1, dklen: 32 };

/** A new private key in a keystore, and its address (EIP-55). The member `address` is what geth and wallets look for. */
export async function newKeystore(password: string): Promise<{ address: string; text: string }> {
  const [salt, iv] = [randomBytes(32), randomBytes(16)];
  const { n: N, r, p, dklen } = SCRYPT;
  const bounded = { N, r, p, maxmem: MAX_SCRYPT_BYTES };
  const derived = await scryptKey(password.normalize('NFKC'), salt, dklen, bounded);
  const key = generatePrivateKey();
  const kdfparams = { ...SCRYPT, salt: salt.toString('hex') };
  const sealed = encrypt(key, bytesToHex(derived), { kdf: 'scrypt', kdfparams, iv });
  const address = privateKeyToAddress(key);
  const text = JSON.stringify({ address: address.toLowerCase().slice(2), ...sealed });
  return { address, text };
}

interface Sealed {
  ciphertext: Buffer;
  iv: Buffer;
  /** Whether the IV in the file has fewer than 16 bytes. */
  isShort: boolean;
  address: string | null;
}

/** The MAC covers neither cipher nor IV, so the address is compared. */
function keyOf(cipherKey: Buffer, { ciphertext, iv, isShort, address }: Sealed): Hex {
  const key = createDecipheriv('aes-128-ctr', cipherKey, iv).update(ciphertext);
  // Early versions of geth leave out leading zero bytes of the key.
  if (key.length < 30 || key.length > 32) throw damaged(`its key has ${key.length} bytes`);
  if ((isShort || key.length < 32) && address === null) {
    throw damaged('key or IV is too short, and no address confirms the key');
  }
  const padded = bytesToHex(Buffer.concat([Buffer.alloc(32 - key.length), key]));
  if (address !== null && address.toLowerCase().replace(/^0x/, '') !== addressOf(padded)) {
    throw damaged('its address is not the address of its key');
  }
  return padded;
}

function addressOf(key: Hex): string {
  try {
    return privateKeyToAddress(key).toLowerCase().slice(2);
  } catch {
    // Drop the cause: the library's message quotes the key.
    throw damaged('it contains no secp256k1 key');
  }
}

/** How to derive 32 bytes from a password. */
function derivationOf({ kdf, kdfparams }: Members): (password: string) => Promise<Buffer> {
  const params = membersOf(kdfparams, 'kdfparams');
  const salt = bytesOf(params.salt, 'kdfparams.salt');
  const number = (name: string) => {
    const value = params[name];
    if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value);
    throw damaged(`kdfparams.${name} is missing or wrong`);
  };
  if (number('dklen') !== 32) throw damaged('kdfparams.dklen is not 32');
  if (kdf === 'scrypt') {
    const options = { N: number('n'), r: number('r'), p: number('p') };
    const { N, r, p } = options;
    if (N < 2 || !Number.isInteger(Math.log2(N))) throw damaged('kdfparams.n is not a power of 2');
    if (128 * N * r > MAX_SCRYPT_BYTES || N * r * p > MAX_WORK) throw beyondBound();
    const bounded = { ...options, maxmem: 2 * MAX_SCRYPT_BYTES };
    // OpenSSL refuses these parameters, which Python's tools write.
    if (N >= 2 ** (16 * r)) return (password) => deriveInThread(password, salt, bounded);
    return (password) => scryptKey(password, salt, 32, bounded);
  }
  const hash = /^hmac-(sha256|sha512)$/.exec(String(params.prf))?.[1];
  if (kdf !== 'pbkdf2' || hash === undefined) {
    const hint = 'Export the key again, with scrypt, or with pbkdf2 and hmac-sha256.';
    throw new KeystoreError('its key derivation (KDF) is unknown', hint);
  }
  const rounds = number('c');
  if (rounds > MAX_WORK) throw beyondBound();
  return (password) => promisify(pbkdf2)(password, salt, rounds, 32, hash);
}

/** scrypt in JavaScript holds its thread for seconds; `scryptAsync` of @noble/hashes never yields to timers and I/O. */
async function deriveInThread(password: string, salt: Buffer, options: ScryptOptions) {
  const thread = new Worker(new URL('./scrypt-thread.js', import.meta.url), { execArgv: [] });
  thread.postMessage({ password, salt, options: { ...options, dkLen: 32 } });
  const [key] = await once(thread, 'message');
  return Buffer.from(key);
}

function parse(text: string): Members {
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {
    // Drop the cause: the message of JSON.parse quotes the file.
    throw damaged('it is not JSON');
  }
  return membersOf(json, 'its JSON');
}

function membersOf(value: unknown, name: string): Members {
  if (typeof value === 'object' && value !== null) return value as Members;
  throw damaged(`${name} is missing or wrong`);
}

/** Bytes from hex, with or without 0x. */
function bytesOf(value: unknown, name: string, length?: number): Buffer {
  const digits = typeof value === 'string' ? value.replace(/^0x/, '') : '';
  const bytes = Buffer.from(digits, 'hex');
  const isHex = bytes.length > 0 && 2 * bytes.length === digits.length;
  if (isHex && (length === undefined || bytes.length === length)) return bytes;
  throw damaged(`${name} is missing or wrong`);
}

function damaged(what: string): KeystoreError {
  const hint = 'Restore the file from a backup, or export the key again.';
  return new KeystoreError(`the file is damaged: ${what}`, hint);
}

/** With parameters that were checked, only memory can be missing. */
function derivationFailed(): KeystoreError {
  const hint = 'Retry where 1 GiB of memory is free, or export the key again with a smaller n.';
  return new KeystoreError('its key derivation failed', hint);
}

function beyondBound(): KeystoreError {
  const hint = 'Export the key again, with scrypt and n = 262144, r = 8, p = 1.';
  return new KeystoreError('its key derivation needs more memory or time than svc allows', hint);
}
