// Preloaded: the process kills itself, as `kill -9` would, just before its KILL_AT_RENAME-th renaming of a file.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { renameSync } = fs;
let countdown = Number(process.env.KILL_AT_RENAME);

fs.renameSync = (from, to) => {
  if (--countdown === 0) process.kill(process.pid, 'SIGKILL');
  renameSync(from, to);
};
syncBuiltinESMExports();
