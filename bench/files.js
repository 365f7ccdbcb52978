/**
 * Hashing of files as evidence: the SHA-256 of the whole and the tree over its chunks, next to one pass of Node.js's
 * own SHA-256 over the same file. The two are interleaved, and the file is in the page cache. It needs two idle cores.
 *
 *   --mebibytes N   size of the file (default 512)
 */
import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { digestFile } from '../dist/client/files.js';
import { byTurns } from './by-turns.js';
import { sized } from './quick.js';
import { report } from './report.js';

const MIB = 2 ** 20;

const { values } = parseArgs({
  options: { mebibytes: { type: 'string', default: sized('512', '4') } },
});
const mebibytes = Number(values.mebibytes);
const file = path.join(tmpdir(), `svc-bench-files-${process.pid}`);

async function writeFile() {
  const handle = await open(file, 'w');
  const chunk = Buffer.alloc(MIB, 'recording');
  for (let i = 0; i < mebibytes; i += 1) await handle.write(chunk);
  await handle.close();
}

/** One pass, with the reads that the evidence makes too. */
async function hashOnce() {
  const handle = await open(file);
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(MIB);
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, MIB);
    if (bytesRead === 0) break;
    hash.update(chunk.subarray(0, bytesRead));
  }
  await handle.close();
  return hash.digest('hex');
}

/** Mebibytes per second. */
async function speedOf(work) {
  const startedAt = performance.now();
  await work();
  return (1000 * mebibytes) / (performance.now() - startedAt);
}

await writeFile();
try {
  const { measured, raw, ratio } = await byTurns({
    measured: () => speedOf(() => digestFile(file)),
    raw: () => speedOf(hashOnce),
  });
  report([
    ['MiB hashed per second, whole and tree', measured],
    ['one pass of SHA-256 of Node.js, interleaved', raw],
    ['ratio of the two', ratio, '>=', 0.55],
  ]);
} finally {
  await rm(file);
}
