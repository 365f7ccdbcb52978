// The thread that recovers signers for signatures.ts. JavaScript: Node.js runs no TypeScript thread in the tests.

import { parentPort } from 'node:worker_threads';
import { secp256k1 } from '@noble/curves/secp256k1';

parentPort?.on(
  'message',
  (/** @type {{ hash: Uint8Array, signature: Uint8Array, recovery: number }} */ signed) => {
    let publicKey = null;
    try {
      const signature = secp256k1.Signature.fromCompact(signed.signature);
      const point = signature.addRecoveryBit(signed.recovery).recoverPublicKey(signed.hash);
      publicKey = point.toRawBytes(false);
    } catch {
      // r or s is out of range, or no point has this r.
    }
    parentPort?.postMessage(publicKey);
  },
);
