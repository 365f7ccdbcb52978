// Recovers the wallet that signed a key text (personal_sign, EIP-191).
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { type Hex, hexToBytes } from '../bytes.ts';
import { recoverAccount } from '../signed-transaction.ts';
import { encodeUtf8 } from '../utf8.ts';

/**
 * The wallet, in lowercase, that made a signature of 65 bytes: `r ‖ s ‖ v` with a low `s`, and `v` 27, 28, 0 or 1. Null
 * for any other bytes: a smart-contract wallet may accept them, which only a node can tell.
 */
export function recoverWallet(text: string, signature: Hex): Hex | null {
  const bytes = hexToBytes(signature);
  const v = bytes[64] ?? Number.NaN;
  if (bytes.length !== 65 || ![0, 1, 27, 28].includes(v)) return null;
  const message = encodeUtf8(text);
  const prefix = encodeUtf8(`\u0019Ethereum Signed Message:\n${message.length}`);
  try {
    return recoverAccount({
      hash: keccak_256(concatBytes(prefix, message)),
      parity: BigInt(v % 27),
      r: BigInt(signature.slice(0, 66)),
      s: BigInt(`0x${signature.slice(66, 130)}`),
    });
  } catch {
    return null;
  }
}
