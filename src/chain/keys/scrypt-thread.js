// Derives one key with scrypt for keystore.ts. JavaScript: Node.js runs no TypeScript thread in the tests.

import { parentPort } from 'node:worker_threads';
import { scrypt } from '@noble/hashes/scrypt.js';

parentPort?.once('message', ({ password, salt, options }) =>
  parentPort?.postMessage(scrypt(password, salt, options)),
);
