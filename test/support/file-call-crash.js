// Preloaded: the process kills itself, as `kill -9` would, just before a call of node:fs. KILL_AT says which,
// as in `renameSync 2` for the second of its renamings.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const [name = '', which] = (process.env.KILL_AT ?? '').split(' ');
/** @type {Record<string, any>} */
const calls = fs;
const original = calls[name];
let countdown = Number(which);

calls[name] = (/** @type {unknown[]} */ ...args) => {
  if (--countdown === 0) process.kill(process.pid, 'SIGKILL');
  return original(...args);
};
syncBuiltinESMExports();
